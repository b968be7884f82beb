"""Records: what a model attended to for one input, as values that can be kept in a file.

`Seen` has the calls as they were captured, and `Record` what they are about: the items, the predictions, and the input
as a page draws it. The calls of a model that runs step by step are joined into one.
"""
