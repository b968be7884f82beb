"""Encoders of sources that need no PyTorch: each file becomes the Python file beside an exported model.

A file may import NumPy, the standard library, and modules of regard that import nothing else; `encoder_file` joins
them to one file. Its function `encode` gives the inputs of the exported network for a list of sources.
"""
