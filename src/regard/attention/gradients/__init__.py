"""Gradients: how autograd and forward mode see a call, and what torch.func's transforms make of it.

`autograd` holds the functions that PyTorch differentiates. Gradients that no part writes by hand come from `vjp`, and a
request that was reduced to a simpler one gets its own back by `reduction`.
"""
