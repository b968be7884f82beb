"""The fraction of rows whose largest weight is on the diagonal, for each head: note 002 says that most are."""

import torch
from measuring import conditions, save

import regard
from regard import datasets

MODELS = {"english-pos": "ud-english-ewt", "chinese-pos": "ud-chinese-gsd"}


def main() -> None:
    rows = []
    for model, data in MODELS.items():
        sentences = [sentence.words for sentence in datasets.read(data, "test") if len(sentence.words) > 1]
        words, largest = 0, {}
        for record in regard.load(model).look(sentences):
            words += len(record.items)
            for layer in record.layers:
                on_itself = layer.weights().argmax(-1) == torch.arange(len(record.items))
                largest[layer.name] = largest.get(layer.name, 0) + on_itself.sum(-1)
        for layer, counts in largest.items():
            shares = [f"{100 * count / words:.1f} %" for count in counts.tolist()]
            rows.append((f"`{model}`", layer, f"{words:,}", *shares))
            print(*rows[-1], sep="\t")
    heads = [f"head {head}" for head in range(1, len(rows[0]) - 2)]
    save("diagonal", ["model", "layer", "words", *heads], rows, conditions("regard"))


if __name__ == "__main__":
    main()
