"""What regard shows: blocks, and their renderers into text, sentences and one offline HTML file."""

from regard.page.blocks import Bar, Bars, Block, Heading, HeatMap, Item, Items, Page, Prose, Ranking, Table
from regard.page.html import as_html
from regard.page.pool import pool
from regard.page.text import as_text, show

__all__ = [
    "Bar",
    "Bars",
    "Block",
    "Heading",
    "HeatMap",
    "Item",
    "Items",
    "Page",
    "Prose",
    "Ranking",
    "Table",
    "as_html",
    "as_text",
    "pool",
    "show",
]
