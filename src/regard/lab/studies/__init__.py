"""The studies that come with the package: one file for each question of the lecture notes."""

from regard.lab.studies import (
    clue,
    convolution,
    data,
    depth,
    diagonal,
    edges,
    guided,
    heads,
    normalisers,
    one_hot,
    place,
    positions,
    projections,
    receptive,
    receptive_field,
    recurrent_form,
    recurrent_form_time,
    recurrent_time,
    saw,
    scale,
    scores,
    self_attention,
    sentiment,
    translation,
    truncated,
    verbs,
    window_cost,
)
from regard.lab.study import Study

__all__ = ["STUDIES"]

_MODULES = (
    self_attention,
    normalisers,
    projections,
    scores,
    scale,
    heads,
    positions,
    truncated,
    saw,
    window_cost,
    receptive_field,
    clue,
    recurrent_time,
    recurrent_form,
    recurrent_form_time,
    data,
    convolution,
    receptive,
    translation,
    guided,
    edges,
    depth,
    one_hot,
    diagonal,
    place,
    verbs,
    sentiment,
)

STUDIES: dict[str, Study] = {module.study.name: module.study for module in _MODULES}
"""The studies by name, in the order of the questions."""
