"""The data sets that regard knows by name.

Each file describes some of them: their terms, their files with checksums, and the function that reads a split.
`registry` lists them all.
"""
