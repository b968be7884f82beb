"""Networks of pictures that two studies train: a detector of digits, and a generator of them.

The detector is measured by average precision, and a page shows what its queries attend to. The generator is trained
against a discriminator, and measured by how near its digits are to real ones.
"""
