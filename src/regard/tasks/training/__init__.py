"""Training: data to batches, the loop, checkpoints, several processes, progress."""
