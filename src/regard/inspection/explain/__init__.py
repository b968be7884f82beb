"""Explanations: what the weights of a record are worth.

Changes of attention are measured by what they do to a prediction; heads are named by their patterns; and methods of
attribution follow the items across layers.
"""
