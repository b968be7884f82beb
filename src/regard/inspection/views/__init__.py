"""Views: a record becomes a page."""

from regard.inspection.views.heatmap import heatmap
from regard.inspection.views.ranked import ranked
from regard.inspection.views.words import words

__all__ = ["heatmap", "ranked", "words"]
