"""Figures for papers, through matplotlib, which the extra `figures` installs: of a record, and of a chart."""

import typing

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.inspection.figures.chart import chart_figure, save_chart
    from regard.inspection.figures.figure import FIGURE_VIEWS, figure, save_figure
    from regard.inspection.figures.matrix_form import matrix_form
    from regard.inspection.figures.receptive_fields import receptive_field_figure
    from regard.inspection.figures.written import FIGURE_FORMATS, is_own_figure

__all__ = [
    "FIGURE_FORMATS",
    "FIGURE_VIEWS",
    "chart_figure",
    "figure",
    "is_own_figure",
    "matrix_form",
    "receptive_field_figure",
    "save_chart",
    "save_figure",
]

lazy.export(
    __name__,
    {
        "chart": "chart_figure save_chart",
        "figure": "FIGURE_VIEWS figure save_figure",
        "matrix_form": "matrix_form",
        "receptive_fields": "receptive_field_figure",
        "written": "FIGURE_FORMATS is_own_figure",
    },
)
