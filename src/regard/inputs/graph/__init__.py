"""Graphs: a vector for each node, and a mask of the edges.

Molecules are read from SMILES, social networks from profiles and lists of edges. `graph_drawing` says where nodes and
atoms stand.
"""
