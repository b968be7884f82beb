"""Words tagged a second: the bundled English tagger beside peers, on the EWT test file, gold tokens, two threads.

The peers: a bidirectional LSTM of equal size on the same features; and spaCy's own tagger network (its default
convolutional net, initialised, not trained: speed doesn't depend on the weights), where spaCy is installed.
"""

import torch
from measuring import conditions, interleaved, save
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import regard
from regard import datasets
from regard.tasks.batching import batches_by_length


class Recurrent(nn.Module):
    """A bidirectional LSTM on the tagger's own word vectors, with about as many parameters as its encoder."""

    def __init__(self, words: nn.Module, width: int, hidden: int, layers: int, labels: int):
        super().__init__()
        self.words = words
        self.recurrent = nn.LSTM(width, hidden, layers, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * hidden, labels)

    def forward(self, features, lengths):
        packed = pack_padded_sequence(self.words(features), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True)
        return self.output(hidden)


def size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def main() -> None:
    torch.set_num_threads(2)
    sentences = [list(sentence.words) for sentence in datasets.read("ud-english-ewt", "test")]
    words = sum(map(len, sentences))
    tagger = regard.load("english-pos")
    network = tagger.network
    width = tagger.recipe.width
    layers = tagger.recipe.layers
    encoder_size = size(network.network)
    # The hidden size that makes the recurrent net as large as the encoder it replaces.
    hidden = min(range(8, 512), key=lambda h: abs(size(nn.LSTM(width, h, layers, bidirectional=True)) - encoder_size))
    recurrent = Recurrent(network.embedding, width, hidden, layers, len(tagger.labels)).eval()

    def run_recurrent():
        with torch.inference_mode():
            for places in batches_by_length([len(sentence) for sentence in sentences], 2000):
                batch = tagger.encode([sentences[place] for place in places])
                recurrent(batch.vectors, batch.lengths).softmax(-1).max(-1)

    candidates = {
        f"regard, self-attention ({encoder_size:,} parameters in the encoder)": lambda: tagger.tag(sentences),
        f"bidirectional LSTM, same features ({size(recurrent.recurrent):,} in the encoder)": run_recurrent,
    }
    packages = ["regard"]
    try:
        import spacy
        from spacy.tokens import Doc

        nlp = spacy.blank("en")
        part = nlp.add_pipe("tagger")
        for label in tagger.labels:
            part.add_label(label)
        nlp.initialize()

        def run_spacy():
            docs = (Doc(nlp.vocab, words=sentence) for sentence in sentences)
            for _ in nlp.pipe(docs, batch_size=256):
                pass

        candidates["spaCy's tagger network (default HashEmbedCNN, initialised, not trained)"] = run_spacy
        packages.append("spacy")
    except ImportError:
        pass
    seconds = interleaved(candidates, rounds=15)
    ours = next(iter(seconds.values()))
    rows = [(name, f"{words / taken:,.0f}", f"{taken / ours:.2f}") for name, taken in seconds.items()]
    columns = ["tagger", "words a second", "its time / ours"]
    save("tagging", columns, rows, conditions(*packages, words=words, threads=2, rounds=15))
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
