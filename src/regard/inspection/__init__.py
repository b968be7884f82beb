"""Seeing what a model looked at: watch it, keep a record, make a page of it."""

from regard.inspection.observe import Sighting, observed
from regard.inspection.record import LayerRecord, Record
from regard.inspection.summaries import Choice, RankedKey, RankedKeys, choose, problems, rank, whole
from regard.inspection.views import answered, attended, heatmap, ranked, where, words

__all__ = [
    "Choice",
    "LayerRecord",
    "RankedKey",
    "RankedKeys",
    "Record",
    "Sighting",
    "answered",
    "attended",
    "choose",
    "heatmap",
    "observed",
    "problems",
    "rank",
    "ranked",
    "where",
    "whole",
    "words",
]
