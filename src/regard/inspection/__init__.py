"""Inspection of attention: capture the weights of a model, keep them in a record, and show views of it."""

from regard.inspection.capture import CapturedAttention, capture_attention
from regard.inspection.record import LayerRecord, Record
from regard.inspection.seen import RecordDiffers, Seen, SeenLayer
from regard.inspection.steps import Steps, steps, steps_page
from regard.inspection.summaries import (
    RankedKey,
    RankedKeys,
    Selection,
    find_problems,
    pooled_weights,
    rank,
    select_weights,
)
from regard.inspection.views import answer_page, heatmap, item_labels, item_rankings, pooled_heatmap, pooled_ranking
from regard.inspection.watch import NothingSeen, watch

__all__ = [
    "CapturedAttention",
    "LayerRecord",
    "NothingSeen",
    "RankedKey",
    "RankedKeys",
    "Record",
    "RecordDiffers",
    "Seen",
    "SeenLayer",
    "Selection",
    "Steps",
    "answer_page",
    "capture_attention",
    "find_problems",
    "heatmap",
    "item_labels",
    "item_rankings",
    "pooled_heatmap",
    "pooled_ranking",
    "pooled_weights",
    "rank",
    "select_weights",
    "steps",
    "steps_page",
    "watch",
]
