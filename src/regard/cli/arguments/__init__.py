"""Arguments: the options that commands share, and the errors for wrong ones.

Each file has the options of one idea, as types for typer.
"""
