"""Pretrained models as a start: a folder of `save_pretrained`, fine-tuned whole, in its last layers, or by adapters.

A base is read from a local folder alone, and the weights of a fine-tuned model are named as transformers names them.
"""
