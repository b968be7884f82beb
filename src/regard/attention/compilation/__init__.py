"""Compilation: `attend` in programs that torch.compile and torch.export make.

PyTorch treats a call as one opaque operator. The parts of the call are written as text beside its tensors, and the
program makes the call from them when it runs.
"""
