"""Capture: how the calls of attention of a running model are seen, and changed.

`watch` opens a block in which PyTorch's functions are intercepted. `functions` reads calls of functions that compute
attention; `by_hand` recognises attention that a model computes from products and a softmax.
"""
