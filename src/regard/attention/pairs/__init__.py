"""Pairs: which keys each query sees, as intervals or as sorted lists, and products over these pairs alone.

A mask says it as intervals where it can, so that whole tiles are skipped, or as edges. `intervals` has the algebra by
which masks are combined, and `csr` the lists, by row and by column.
"""
