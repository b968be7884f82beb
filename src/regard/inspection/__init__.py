"""Inspection of attention: see what a model attends to, keep it in a record, measure what it is worth, and show it."""

from regard.inspection.capture.watch import NothingSeen, PartlySeen, intervene, watch
from regard.inspection.cases.case import Case
from regard.inspection.explain.across_layers import (
    ATTRIBUTIONS,
    Attribution,
    gradient_weighted,
    raw_weights,
    rollout,
    value_weighted,
)
from regard.inspection.explain.attended import attended
from regard.inspection.explain.changes import (
    Change,
    HideKey,
    HideKeys,
    HidePair,
    RemoveHead,
    Temperature,
    UniformHead,
    UniformRow,
)
from regard.inspection.explain.effects import Effect, OneByOne, all_heads, all_keys, effects
from regard.inspection.explain.outcomes import Outcome, Outcomes, Place
from regard.inspection.explain.patterns import HeadPattern, head_patterns
from regard.inspection.explain.rank_agreement import rank_agreement
from regard.inspection.explain.receptive_fields import receptive_fields
from regard.inspection.explain.see import see
from regard.inspection.explain.summaries import (
    RankedKey,
    RankedKeys,
    Selection,
    find_problems,
    pooled_weights,
    rank,
    select_weights,
)
from regard.inspection.figures import (
    FIGURE_FORMATS,
    FIGURE_VIEWS,
    chart_figure,
    figure,
    receptive_field_figure,
    save_chart,
    save_figure,
)
from regard.inspection.record.drawn_inputs import (
    DrawnGraph,
    DrawnInput,
    DrawnMolecule,
    DrawnPicture,
    DrawnSound,
    DrawnTable,
)
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.record.record_storage import load_record, save_record
from regard.inspection.record.seen import RecordDiffers, Seen
from regard.inspection.record.seen_layer import SeenLayer
from regard.inspection.steps import Steps, steps, steps_page
from regard.inspection.views import (
    answer_page,
    comparison,
    comparison_of,
    heatmap,
    item_labels,
    item_rankings,
    live_page,
    pooled_heatmap,
    pooled_ranking,
    save_page,
    story,
    story_of,
)

__all__ = [
    "ATTRIBUTIONS",
    "FIGURE_FORMATS",
    "FIGURE_VIEWS",
    "Attribution",
    "Case",
    "Change",
    "DrawnGraph",
    "DrawnInput",
    "DrawnMolecule",
    "DrawnPicture",
    "DrawnSound",
    "DrawnTable",
    "Effect",
    "HeadPattern",
    "HideKey",
    "HideKeys",
    "HidePair",
    "LayerRecord",
    "NothingSeen",
    "OneByOne",
    "Outcome",
    "Outcomes",
    "PartlySeen",
    "Place",
    "RankedKey",
    "RankedKeys",
    "Record",
    "RecordDiffers",
    "RemoveHead",
    "Seen",
    "SeenLayer",
    "Selection",
    "Steps",
    "Temperature",
    "UniformHead",
    "UniformRow",
    "all_heads",
    "all_keys",
    "answer_page",
    "attended",
    "chart_figure",
    "comparison",
    "comparison_of",
    "effects",
    "figure",
    "find_problems",
    "gradient_weighted",
    "head_patterns",
    "heatmap",
    "intervene",
    "item_labels",
    "item_rankings",
    "live_page",
    "load_record",
    "pooled_heatmap",
    "pooled_ranking",
    "pooled_weights",
    "rank",
    "rank_agreement",
    "raw_weights",
    "receptive_field_figure",
    "receptive_fields",
    "rollout",
    "save_chart",
    "save_figure",
    "save_page",
    "save_record",
    "see",
    "select_weights",
    "steps",
    "steps_page",
    "story",
    "story_of",
    "value_weighted",
    "watch",
]
