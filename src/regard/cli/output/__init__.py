"""Output: the terminal, pages, figures and records that commands write.

What a command is to write is checked before its work, and written in one step at its end.
"""
