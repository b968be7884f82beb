"""The command line: a file for each command, and `main`, which runs one and turns every failure into one sentence.

What several commands share has chambers: their `arguments`, their `output`, and `answering`, by which a model is asked.
`server` is the page of `regard serve`. Nothing here reads data, judges or saves: `regard.tasks` does.
"""
