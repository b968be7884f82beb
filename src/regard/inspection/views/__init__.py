"""Views: functions that make a page from a record."""

from regard.inspection.views.answer_page import answer_page
from regard.inspection.views.comparison import comparison_of
from regard.inspection.views.comparison_page import comparison
from regard.inspection.views.facts import story_of
from regard.inspection.views.heatmap import heatmap
from regard.inspection.views.item_labels import item_labels
from regard.inspection.views.item_rankings import item_rankings
from regard.inspection.views.live_page import live_page, save_page
from regard.inspection.views.pooled_heatmap import pooled_heatmap
from regard.inspection.views.pooled_ranking import pooled_ranking
from regard.inspection.views.story import story

__all__ = [
    "answer_page",
    "comparison",
    "comparison_of",
    "heatmap",
    "item_labels",
    "item_rankings",
    "live_page",
    "pooled_heatmap",
    "pooled_ranking",
    "save_page",
    "story",
    "story_of",
]
