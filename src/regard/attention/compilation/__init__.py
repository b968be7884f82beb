"""Compilation: `attend` in programs that torch.compile and torch.export make.

PyTorch sees one operator that it need not look into. Its parts are written as a text beside the tensors, from which the
call is made again when the program runs.
"""
