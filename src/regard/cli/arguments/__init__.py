"""Arguments: the options that commands share, and the errors for wrong ones.

`options.py` lists them, as types for typer; the other files read what was given, or say what is wrong with it.
"""
