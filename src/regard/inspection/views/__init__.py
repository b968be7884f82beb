"""Views: a record becomes a page."""

from regard.inspection.views.answered import answered
from regard.inspection.views.attended import attended
from regard.inspection.views.heatmap import heatmap
from regard.inspection.views.ranked import ranked
from regard.inspection.views.where import where
from regard.inspection.views.words import words

__all__ = ["answered", "attended", "heatmap", "ranked", "where", "words"]
