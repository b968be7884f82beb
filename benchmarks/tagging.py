"""Words tagged a second: the bundled English tagger beside peers, on the test file of English EWT, gold tokens.

    python benchmarks/tagging.py [--rounds 5]

Every measurement runs in a process of its own, after twenty sentences of dev as warm-up, so that cached words have no
effect, as with a user's new text. The processes take turns, and the table has medians. The peers are a bidirectional
LSTM of equal size on the same features, and spaCy's own tagger network (its default convolutional network, initialised
but not trained, because speed doesn't depend on the weights) if spaCy is installed. The LSTM encodes words and returns
labels with probabilities; regard's tagger also checks its input and warns of out-of-distribution text. spaCy has no
setting for threads.
"""

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from measuring import conditions, save
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import regard
from regard import datasets
from regard.tasks.training.batching import batches_by_length

Sentences = Sequence[list[str]]
WARM_UP = 20  # sentences
SETTINGS = [("together", 1), ("together", 2), ("one by one", 1), ("one by one", 2)]
"""How sentences are passed, and the number of threads."""


class Recurrent(nn.Module):
    """A bidirectional LSTM on the tagger's own word vectors, with about as many parameters as its encoder."""

    def __init__(self, words: nn.Module, width: int, hidden: int, layers: int, labels: int):
        super().__init__()
        self.words = words
        self.recurrent = nn.LSTM(width, hidden, layers, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * hidden, labels)

    def forward(self, features, lengths):
        vectors = self.words(features)
        if len(lengths) == 1:
            return self.output(self.recurrent(vectors)[0])
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True)
        return self.output(hidden)


def size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def self_attention() -> tuple[str, Callable[[Sentences], Any]]:
    """The bundled tagger as users call it, with its warnings, probabilities and checks."""
    tagger = regard.load("english-pos")
    return f"regard, self-attention ({size(tagger.network.network):,} parameters in the encoder)", tagger.tag


def recurrent() -> tuple[str, Callable[[Sentences], Any]]:
    """The LSTM: the tagger's encoder of words, and labels with probabilities, without further checks."""
    tagger = regard.load("english-pos")
    width, layers = tagger.recipe.width, tagger.recipe.layers
    encoder_size = size(tagger.network.network)
    # The hidden size that makes the recurrent net as large as the encoder it replaces.
    hidden = min(range(8, 512), key=lambda h: abs(size(nn.LSTM(width, h, layers, bidirectional=True)) - encoder_size))
    network = Recurrent(tagger.network.embedding, width, hidden, layers, len(tagger.labels)).eval()

    def run(sentences: Sentences) -> list[list[tuple[str, str, float]]]:
        found: list[list[tuple[str, str, float]]] = [[] for _ in sentences]
        for places in batches_by_length([len(sentence) for sentence in sentences], 2000):
            members = [sentences[place] for place in places]
            batch = tagger.encoder.encode(members)
            with torch.inference_mode():
                best = network(batch.vectors, batch.lengths).softmax(-1).max(-1)
            for place, words, chances, labels in zip(
                places, members, best.values.tolist(), best.indices.tolist(), strict=True
            ):
                found[place] = [(w, tagger.labels[i], p) for w, i, p in zip(words, labels, chances, strict=False)]
        return found

    return f"bidirectional LSTM, same features ({size(network.recurrent):,} in the encoder)", run


def spacy_tagger() -> tuple[str, Callable[[Sentences], Any]]:
    import spacy
    from spacy.tokens import Doc

    nlp = spacy.blank("en")
    part = nlp.add_pipe("tagger")
    for label in regard.load("english-pos").labels:
        part.add_label(label)
    nlp.initialize()

    def run(sentences: Sentences) -> list[Any]:
        return list(nlp.pipe((Doc(nlp.vocab, words=sentence) for sentence in sentences), batch_size=256))

    return "spaCy's tagger network (default HashEmbedCNN, initialised, not trained)", run


CANDIDATES = {"attention": self_attention, "recurrent": recurrent, "spacy": spacy_tagger}


def once(candidate: str, given: str, threads: int) -> tuple[str, float]:
    """The title of a candidate, and its seconds for text that is new to this process."""
    torch.set_num_threads(threads)
    new, known = (
        [list(sentence.words) for sentence in datasets.read("ud-english-ewt", split)] for split in ("test", "dev")
    )
    title, run = CANDIDATES[candidate]()

    def all_of(sentences: Sentences) -> None:
        if given == "together":
            run(sentences)
            return
        for sentence in sentences:
            run([sentence])

    all_of(known[:WARM_UP])
    start = time.perf_counter()
    all_of(new)
    return title, time.perf_counter() - start


def apart(candidate: str, given: str, threads: int) -> tuple[str, float]:
    """`once` in a process of its own."""
    command = [sys.executable, __file__, "--once", candidate, given, str(threads)]
    title, seconds = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\t")
    return title, float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="processes of each kind")
    parser.add_argument("--once", nargs=3, metavar=("CANDIDATE", "GIVEN", "THREADS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        candidate, how, threads = given.once
        print(*once(candidate, how, int(threads)), sep="\t")
        return
    names = [name for name in CANDIDATES if name != "spacy" or importlib.util.find_spec("spacy")]
    titles: dict[str, str] = {}
    taken: dict[tuple[str, str, int], list[float]] = {}
    for number in range(given.rounds):
        for how, threads in SETTINGS:
            for name in names:
                if name == "spacy" and threads > 1:
                    continue
                titles[name], seconds = apart(name, how, threads)
                taken.setdefault((name, how, threads), []).append(seconds)
        print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    words = sum(len(sentence.words) for sentence in datasets.read("ud-english-ewt", "test"))
    columns = ["tagger, words a second of new text", *(f"{how}, {counted(n)}" for how, n in SETTINGS)]
    speed = {key: words / statistics.median(seconds) for key, seconds in taken.items()}
    rows = [
        [titles[name], *(f"{speed[key]:,.0f}" if (key := (name, *setting)) in speed else "-" for setting in SETTINGS)]
        for name in names
    ]
    packages = ["regard", *(["spacy"] if "spacy" in names else [])]
    facts = conditions(*packages, words=f"{words:,}", rounds=given.rounds)
    save("tagging", columns, rows, facts)
    for row in (columns, *rows):
        print(*row, sep="\t")


def counted(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


if __name__ == "__main__":
    main()
