"""Functions of attention outside of PyTorch, of which PyTorch's function protocol knows nothing: how they are seen."""
