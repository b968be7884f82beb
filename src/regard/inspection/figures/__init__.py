"""Figures: what a record shows as a picture for a paper, through matplotlib, which the extra `figures` installs."""

from regard.inspection.figures.figure import FIGURE_VIEWS, figure
from regard.inspection.figures.saved import FIGURE_FORMATS, is_own_figure, save_figure

__all__ = ["FIGURE_FORMATS", "FIGURE_VIEWS", "figure", "is_own_figure", "save_figure"]
