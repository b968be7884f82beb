"""Gradients: how autograd and forward mode see a call, and what torch.func's transforms make of it.

`autograd` holds the functions that PyTorch differentiates. `vjp` differentiates parts that have no gradient by hand.
`reduction` turns the gradients of a reduced request into those of the original one.
"""
