"""Words whose tag depends on context: the tagger with attention beside the same net without, on held-out sentences.

The words: all forms (lower-cased) that occur in the EWT test file with at least two different tags, each at least
twice, and in training with at least two tags. Nothing is chosen by hand. All their test occurrences count.

    python benchmarks/context.py WITHOUT     a folder with the same recipe trained with "attention": false
"""

import sys
from collections import Counter, defaultdict

from measuring import conditions, save

import regard
from regard import datasets


def by_form(sentences) -> dict[str, Counter]:
    found: dict[str, Counter] = defaultdict(Counter)
    for sentence in sentences:
        for word, label in zip(sentence.words, sentence.labels, strict=True):
            found[word.lower()][label] += 1
    return found


def right(tagger, sentences, forms) -> tuple[Counter, Counter, int, int]:
    """Per form: right and all; over all words: right and all."""
    correct, total, all_correct, count = Counter(), Counter(), 0, 0
    for sentence, tagged in zip(sentences, tagger.tag([list(s.words) for s in sentences]), strict=True):
        for word, label, given in zip(sentence.words, sentence.labels, tagged, strict=True):
            all_correct += label == given.label
            count += 1
            if word.lower() in forms:
                total[word.lower()] += 1
                correct[word.lower()] += label == given.label
    return correct, total, all_correct, count


def main(without: str) -> None:
    train, test = by_form(datasets.read("ud-english-ewt", "train")), datasets.read("ud-english-ewt", "test")
    held_out = by_form(test)
    forms = {
        form
        for form, labels in held_out.items()
        if sum(times >= 2 for times in labels.values()) >= 2 and len(train.get(form, ())) >= 2
    }
    rows, details = [], {}
    saws = {}
    for name, tagger in (("with attention", regard.load("english-pos")), ("without", regard.load(without))):
        correct, total, all_correct, count = right(tagger, test, forms)
        share = sum(correct.values()) / sum(total.values())
        rows.append((name, f"{100 * share:.1f} %", f"{100 * all_correct / count:.2f} %", f"{tagger.parameters:,}"))
        details[name] = {form: [correct[form], total[form]] for form in sorted(forms)}
        batch = tagger.encode([["I", "saw", "a", "saw", "."]])
        scores = tagger.score(batch)[0]
        saws[name] = bool((scores[1] == scores[3]).all())
    guess = sum(max(held_out[form].items(), key=lambda item: train[form][item[0]])[1] for form in forms)
    words = sum(sum(held_out[form].values()) for form in forms)
    rows.append(("most frequent tag of the word", f"{100 * guess / words:.1f} %", "", ""))
    columns = ["tagger", f"{len(forms)} words that depend on context, {words} times", "all words", "parameters"]
    print(*columns, sep="\t")
    for row in rows:
        print(*row, sep="\t")
    print("both saws of `I saw a saw .` have bitwise equal scores:", saws)
    save("context", columns, rows, conditions("regard"), forms=details, saws_bitwise_equal=saws)


if __name__ == "__main__":
    main(sys.argv[1])
