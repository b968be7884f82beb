"""What default recipes of seq2seq and synthesis share, whose models are one encoder and one decoder."""

__all__ = ["ENCODER_DECODER"]

ENCODER_DECODER = {"position": "sinusoidal", "dropout": 0.1, "attention_dropout": 0.0}
"""`Task.defaults`: positions and dropout as in Vaswani et al. 2017 (arXiv 1706.03762), sections 3.5 and 5.4."""
