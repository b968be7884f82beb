"""What studies train and measure on text.

Most use one small tagger, so that their results compare. The others train classifiers, translators, or taggers that
know words by their vectors alone.
"""
