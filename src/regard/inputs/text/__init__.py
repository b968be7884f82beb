"""Text: how it is split into words, characters, subwords or bytes, and how these become vectors.

A vocabulary or a word encoder gives them ids. Embeddings and pretrained vectors give the ids vectors.
"""
