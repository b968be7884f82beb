"""Pages: blocks of content, and their rendering as text, as sentences, and as one offline HTML file."""

from regard.page.blocks import (
    Bar,
    Bars,
    Block,
    Box,
    Chart,
    Code,
    ComparedItem,
    Comparison,
    Heading,
    HeatMap,
    Item,
    Items,
    Page,
    Picture,
    Pictures,
    Point,
    Prose,
    Ranking,
    Series,
    Table,
)
from regard.page.html import as_html
from regard.page.pictures.downsampling import downsample
from regard.page.scripted import as_live_html
from regard.page.text import as_text, show

__all__ = [
    "Bar",
    "Bars",
    "Block",
    "Box",
    "Chart",
    "Code",
    "ComparedItem",
    "Comparison",
    "Heading",
    "HeatMap",
    "Item",
    "Items",
    "Page",
    "Picture",
    "Pictures",
    "Point",
    "Prose",
    "Ranking",
    "Series",
    "Table",
    "as_html",
    "as_live_html",
    "as_text",
    "downsample",
    "show",
]
