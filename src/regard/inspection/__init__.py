"""Inspection of attention: see what a model attends to, keep it in a record, measure what it is worth, and show it."""

import typing

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.inspection.capture.outside.vllm import NotRecorded, watched_backend
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
    from regard.inspection.explain.baselines import BASELINES, HeadEffects, head_effects
    from regard.inspection.explain.changes import (
        Change,
        HideKey,
        HideKeys,
        HidePair,
        Temperature,
        Together,
        UniformHead,
        UniformRow,
    )
    from regard.inspection.explain.downstream import WeightChanges, downstream
    from regard.inspection.explain.effect import Effect, JointEffect
    from regard.inspection.explain.effects import OneByOne, all_heads, all_keys, effects, joint_effect
    from regard.inspection.explain.head_changes import PatchHead, RemoveHead
    from regard.inspection.explain.outcomes import Outcome, Outcomes, Place
    from regard.inspection.explain.patched_cases import patch_cases
    from regard.inspection.explain.patching import Patching, patching
    from regard.inspection.explain.patterns import HeadPattern, head_patterns
    from regard.inspection.explain.random_directions import RandomDirection
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
    from regard.inspection.figures.chart import chart_figure, save_chart
    from regard.inspection.figures.figure import FIGURE_VIEWS, figure, save_figure
    from regard.inspection.figures.receptive_fields import receptive_field_figure
    from regard.inspection.figures.written import FIGURE_FORMATS
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
    from regard.inspection.views.answer_page import answer_page
    from regard.inspection.views.comparison import comparison_of
    from regard.inspection.views.comparison_page import comparison
    from regard.inspection.views.facts import story_of
    from regard.inspection.views.heatmap import heatmap, pooled_heatmap
    from regard.inspection.views.item_labels import item_labels
    from regard.inspection.views.item_rankings import item_rankings, pooled_ranking
    from regard.inspection.views.live_page import live_page, save_page
    from regard.inspection.views.patched import Patched, patched_of
    from regard.inspection.views.story import story

__all__ = [
    "ATTRIBUTIONS",
    "BASELINES",
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
    "HeadEffects",
    "HeadPattern",
    "HideKey",
    "HideKeys",
    "HidePair",
    "JointEffect",
    "LayerRecord",
    "NotRecorded",
    "NothingSeen",
    "OneByOne",
    "Outcome",
    "Outcomes",
    "PartlySeen",
    "PatchHead",
    "Patched",
    "Patching",
    "Place",
    "RandomDirection",
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
    "Together",
    "UniformHead",
    "UniformRow",
    "WeightChanges",
    "all_heads",
    "all_keys",
    "answer_page",
    "attended",
    "chart_figure",
    "comparison",
    "comparison_of",
    "downstream",
    "effects",
    "figure",
    "find_problems",
    "gradient_weighted",
    "head_effects",
    "head_patterns",
    "heatmap",
    "intervene",
    "item_labels",
    "item_rankings",
    "joint_effect",
    "live_page",
    "load_record",
    "patch_cases",
    "patched_of",
    "patching",
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
    "watched_backend",
]

lazy.export(
    __name__,
    {
        "capture.outside.vllm": "NotRecorded watched_backend",
        "capture.watch": "NothingSeen PartlySeen intervene watch",
        "cases.case": "Case",
        "explain.across_layers": "ATTRIBUTIONS Attribution gradient_weighted raw_weights rollout value_weighted",
        "explain.attended": "attended",
        "explain.baselines": "BASELINES HeadEffects head_effects",
        "explain.changes": "Change HideKey HideKeys HidePair Temperature Together UniformHead UniformRow",
        "explain.downstream": "WeightChanges downstream",
        "explain.effect": "Effect JointEffect",
        "explain.effects": "OneByOne all_heads all_keys effects joint_effect",
        "explain.head_changes": "PatchHead RemoveHead",
        "explain.outcomes": "Outcome Outcomes Place",
        "explain.patched_cases": "patch_cases",
        "explain.patching": "Patching patching",
        "explain.patterns": "HeadPattern head_patterns",
        "explain.random_directions": "RandomDirection",
        "explain.rank_agreement": "rank_agreement",
        "explain.receptive_fields": "receptive_fields",
        "explain.see": "see",
        "explain.summaries": "RankedKey RankedKeys Selection find_problems pooled_weights rank select_weights",
        "figures.chart": "chart_figure save_chart",
        "figures.figure": "FIGURE_VIEWS figure save_figure",
        "figures.receptive_fields": "receptive_field_figure",
        "figures.written": "FIGURE_FORMATS",
        "record.drawn_inputs": "DrawnGraph DrawnInput DrawnMolecule DrawnPicture DrawnSound DrawnTable",
        "record.record": "LayerRecord Record",
        "record.record_storage": "load_record save_record",
        "record.seen": "RecordDiffers Seen",
        "record.seen_layer": "SeenLayer",
        "steps": "Steps steps steps_page",
        "views.answer_page": "answer_page",
        "views.comparison": "comparison_of",
        "views.comparison_page": "comparison",
        "views.facts": "story_of",
        "views.heatmap": "heatmap pooled_heatmap",
        "views.item_labels": "item_labels",
        "views.item_rankings": "item_rankings pooled_ranking",
        "views.live_page": "live_page save_page",
        "views.patched": "Patched patched_of",
        "views.story": "story",
    },
)
