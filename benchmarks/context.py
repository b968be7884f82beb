"""Words whose tag depends on context: taggers with attention beside the same net without, on held-out sentences.

The words: all forms (lower-cased) that occur in the EWT test file with at least two different tags, each at least
twice, and in training with at least two tags. No word is chosen by hand, and all their occurrences in test count.
Every seed that `make models` trained is measured, not only the bundled one.
"""

import statistics
from collections import Counter, defaultdict
from pathlib import Path

from measuring import conditions, save

import regard
from regard import datasets

RUNS = Path(__file__).parent.parent / "runs"
SAWS = ["I", "saw", "a", "saw", "."]
LABELS = ["PRON", "VERB", "DET", "NOUN", "PUNCT"]


def by_form(sentences) -> dict[str, Counter]:
    found: dict[str, Counter] = defaultdict(Counter)
    for sentence in sentences:
        for word, label in zip(sentence.words, sentence.labels, strict=True):
            found[word.lower()][label] += 1
    return found


def shares(tagger, sentences, forms) -> tuple[float, float]:
    """The percentage of right labels: of the forms, and of all words."""
    right, total, all_right, count = 0, 0, 0, 0
    for sentence, tagged in zip(sentences, tagger.tag([list(s.words) for s in sentences]), strict=True):
        for word, label, given in zip(sentence.words, sentence.labels, tagged, strict=True):
            all_right += label == given.label
            count += 1
            if word.lower() in forms:
                total += 1
                right += label == given.label
    return 100 * right / total, 100 * all_right / count


def main() -> None:
    train, test = by_form(datasets.read("ud-english-ewt", "train")), datasets.read("ud-english-ewt", "test")
    held_out = by_form(test)
    forms = {
        form
        for form, labels in held_out.items()
        if sum(times >= 2 for times in labels.values()) >= 2 and len(train.get(form, ())) >= 2
    }
    rows, equal = [], {}
    for name, run in (("with attention", "english-pos"), ("without", "english-pos-without-attention")):
        taggers = [regard.load(folder / "model") for folder in sorted(RUNS.glob(f"{run}-[0-9]"))]
        ambiguous, every = zip(*(shares(tagger, test, forms) for tagger in taggers), strict=True)
        right = sum([word.label for word in tagger.tag([SAWS])[0]] == LABELS for tagger in taggers)
        scores = [tagger.score(tagger.encode([SAWS]))[0] for tagger in taggers]
        equal[name] = [bool((score[1] == score[3]).all()) for score in scores]
        rows.append((name, spread(ambiguous), spread(every), f"{right} of {len(taggers)}"))
    guess = sum(max(held_out[form].items(), key=lambda item: train[form][item[0]])[1] for form in forms)
    words = sum(sum(held_out[form].values()) for form in forms)
    rows.append(("most frequent tag of the word", f"{100 * guess / words:.1f} %", "", "0"))
    columns = [
        "tagger",
        f"{len(forms)} words that depend on context, {words:,} times",
        "all words",
        "seeds that get `I saw a saw .` right",
    ]
    print(*columns, sep="\t")
    for row in rows:
        print(*row, sep="\t")
    print("both saws have bitwise equal scores, by seed:", equal)
    facts = conditions("regard", seeds=len(taggers), by="make models, then benchmarks/context.py")
    save("context", columns, rows, facts, words=sorted(forms), saws_bitwise_equal=equal)


def spread(figures) -> str:
    return f"{statistics.mean(figures):.1f} ± {(max(figures) - min(figures)) / 2:.1f} %"


if __name__ == "__main__":
    main()
