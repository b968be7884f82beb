"""Answering: what the commands that ask a model share.

Sources are read line by line and given to the model that suits them. Its answers are printed with the attention behind
them.
"""
