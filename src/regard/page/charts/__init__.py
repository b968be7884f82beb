"""Charts: values along an axis, drawn as SVG or in characters.

`chart_layout` gives the marks of a chart, which pages and figures draw; `chart_numbers` tells the chart in words.
"""
