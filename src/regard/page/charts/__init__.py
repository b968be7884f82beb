"""Charts: values along an axis, drawn as SVG or in characters.

`chart_layout` says where everything is drawn, for a page as for a figure; `chart_numbers` says the same in words.
"""
