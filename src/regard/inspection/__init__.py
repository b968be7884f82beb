"""Seeing what a model looked at: watch it, keep a record, make a page of it."""

from regard.inspection.looking import MOST_WORDS, look
from regard.inspection.observe import Sighting, observed
from regard.inspection.record import LayerRecord, Record
from regard.inspection.summaries import Choice, RankedKey, RankedKeys, choose, problems, rank
from regard.inspection.views import heatmap, ranked, words

__all__ = [
    "MOST_WORDS",
    "Choice",
    "LayerRecord",
    "RankedKey",
    "RankedKeys",
    "Record",
    "Sighting",
    "choose",
    "heatmap",
    "look",
    "observed",
    "problems",
    "rank",
    "ranked",
    "words",
]
