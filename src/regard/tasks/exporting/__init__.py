"""Exporting: a trained model as a file of another format, with what is needed to use it without regard."""
