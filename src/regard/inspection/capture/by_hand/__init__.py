"""Attention that a model computes itself, from a product of queries and keys to a product of weights and values.

Tensors are followed from function to function. Where weights over the last axis are multiplied by values, the call is
told in the terms of the operator: as a rule, or as a table of all pairs.
"""
