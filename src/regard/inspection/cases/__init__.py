"""Cases: a model with one input to it, as `see` takes them.

A case says what the items are, runs the model, and reads its predictions. `regard.inspection.hugging_face` makes one of
a folder of `save_pretrained`; the trained models of regard have theirs in `regard.tasks`.
"""
