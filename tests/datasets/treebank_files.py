"""Small CoNLL-U files for the tests."""


def word(number, form, upos="NOUN", xpos="NN", feats="_", deprel="dep"):
    """A line of a word, without its end."""
    return f"{number}\t{form}\t_\t{upos}\t{xpos}\t{feats}\t_\t{deprel}\t_\t_"


def sentence(*words):
    """The lines of a sentence; each word is a form, or a form and its UPOS."""
    pairs = [(each, "NOUN") if isinstance(each, str) else each for each in words]
    return "".join(word(number, *pair) + "\n" for number, pair in enumerate(pairs, start=1)) + "\n"


SAW = sentence(("I", "PRON"), ("saw", "VERB"), ("a", "DET"), ("saw", "NOUN"), (".", "PUNCT"))
