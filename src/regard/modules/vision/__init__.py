"""Attention over pictures: over pixels, as convolution, and by object queries.

Objects are matched with the true ones by the assignment with the least cost.
"""
