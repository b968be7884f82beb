"""The server of `regard serve`: a page that answers what is typed into it.

It answers the page alone, one question at a time, and ends when it is told to.
"""
