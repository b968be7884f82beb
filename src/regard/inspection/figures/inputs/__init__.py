"""Inputs in figures: words with arcs, and what else an input may be, as the page draws it.

Each file draws one kind of input, with the weights of one row on it. `arcs` chooses among them.
"""
