"""Sequence to sequence: models that read one sequence and write another.

`seq2seq` holds what all of them share. They differ in their encoder and decoder; targets are written by `generation`,
and may be chosen together with a CTC head.
"""
