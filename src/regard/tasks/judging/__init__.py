"""Judging: scores with their intervals, and what else tells how good a model is.

Every number is computed from predictions and targets, by libraries where there is one.
"""
