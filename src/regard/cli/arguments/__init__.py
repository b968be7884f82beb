"""Arguments: the options that commands share, and what is said of those that are wrong.

Each file has the options of one idea, as types for typer.
"""
