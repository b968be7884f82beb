"""Inspection of attention: capture the weights of a model, keep them in a record, and show views of it."""

from regard.inspection.across_layers import (
    ATTRIBUTIONS,
    Attribution,
    gradient_weighted,
    raw_weights,
    rollout,
    value_weighted,
)
from regard.inspection.capture import CapturedAttention, capture_attention
from regard.inspection.patterns import HeadPattern, head_patterns
from regard.inspection.record import LayerRecord, Record
from regard.inspection.seen import Seen, SeenLayer
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
    "ATTRIBUTIONS",
    "Attribution",
    "CapturedAttention",
    "HeadPattern",
    "LayerRecord",
    "NothingSeen",
    "RankedKey",
    "RankedKeys",
    "Record",
    "Seen",
    "SeenLayer",
    "Selection",
    "answer_page",
    "capture_attention",
    "find_problems",
    "gradient_weighted",
    "head_patterns",
    "heatmap",
    "item_labels",
    "item_rankings",
    "pooled_heatmap",
    "pooled_ranking",
    "pooled_weights",
    "rank",
    "raw_weights",
    "rollout",
    "select_weights",
    "value_weighted",
    "watch",
]
