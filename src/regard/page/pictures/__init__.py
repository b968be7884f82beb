"""Pictures on a page: grey values with boxes and weights over them, as SVG or in characters.

What a picture shows is also told in words, for those who don't see it.
"""
