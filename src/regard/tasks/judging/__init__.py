"""Judging: scores with their intervals, and what else tells how good a model is.

Scores are computed from predictions and targets, by a library where one offers them.
"""
