"""Small records, made by hand, for the tests of the live page: each kind and form of answer, and what is hostile."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from regard.inspection import Case, LayerRecord, Outcome, Outcomes, Place, Record, see, story
from regard.inspection.views.page_data import Chosen, page_data
from regard.page import Page, as_live_html

WORDS = ("a", "saw", " film", "saw", ".")
LABELS = ("DET", "NOUN", "VERB")


def document(*records: Record, title: str = "seen", **shown: int | None) -> str:
    """The page of some records, as the commands write it."""
    titles = [f"record {number}" for number, _ in enumerate(records, start=1)]
    static = [story(each) for each in records if each.outcomes is not None]
    blocks = (block for each in static for block in each.blocks)
    return as_live_html(Page(title, tuple(blocks)), *page_data(records, titles, Chosen(**shown)))


def layers(keys: int, queries: int | None = None, heads: tuple[int, ...] = (2, 3)) -> tuple[LayerRecord, ...]:
    """Random rows that sum to 1, of which some are exactly one-hot and uniform."""
    queries = keys if queries is None else queries
    found = []
    for number, count in enumerate(heads, start=1):
        weights = (3 * torch.randn(count, queries, keys)).softmax(-1)
        weights[0, 0] = nn.functional.one_hot(torch.tensor(keys - 1), keys)
        weights[-1, -1] = 1 / keys
        found.append(LayerRecord.of_weights(f"layer {number}", weights, "softmax"))
    return tuple(found)


def record_of_calls(*made: LayerRecord) -> Record:
    """A record of layers, whose items have numbers for names."""
    queries, keys = made[0].shape
    names = tuple(map(str, range(1, keys + 1)))
    return Record(names, layers=made, queries=None if queries == keys else names[:queries])


def _outcome(kind: str, place: Place) -> Outcome:
    if kind == "vectors":
        return Outcome("", None, float(torch.rand(()) ** 3))
    change = float(torch.randn(()) * 10.0 ** torch.randint(-5, 5, ()))
    if kind == "numbers":
        return Outcome(f"{float(place.label) + change:.4g}", None, change)
    score = float(torch.rand(()))
    before = place.score or 0.0
    if torch.rand(()) < 0.5:
        return Outcome(place.label, score, score - before)
    return Outcome(LABELS[int(torch.randint(3, ()))], score, -before * float(torch.rand(())))


def outcomes(kind: str, form: str, places: list[Place], items: int, heads: tuple[int, ...]) -> Outcomes:
    """Random outcomes; those of the first item change nothing."""
    hidden = [tuple(_outcome(kind, place) for place in places) for _ in range(items)]
    hidden[0] = tuple(Outcome(place.label, place.score, 0.0) for place in places)
    removed = tuple(tuple(tuple(_outcome(kind, place) for place in places) for _ in range(count)) for count in heads)
    return Outcomes(kind, form, tuple(places), tuple(hidden), removed)  # pyright: ignore[reportArgumentType]


def labels(form: str = "item", items: tuple[str, ...] = WORDS) -> Record:
    """A label for each item, or the item that comes after it."""
    torch.manual_seed(1)
    made, scores = layers(len(items)), torch.rand(len(items)).tolist()
    names = [LABELS[number % 3] for number in range(len(items))]
    places = [Place(*each) for each in zip(items, range(len(items)), names, scores, strict=True)]
    found = outcomes("labels", form, places, len(items), (2, 3))
    return Record(items, tuple(names), tuple(scores), made, "toy", noun="word", outcomes=found)


def nothing_matters() -> Record:
    """No change is worth a word, and of one record none was measured."""
    torch.manual_seed(2)
    places = [Place("a", 0, "DET", 0.75), Place("b", 1, "NOUN", 1.0)]
    same = tuple(Outcome(place.label, place.score, 0.001) for place in places)
    found = Outcomes("labels", "item", tuple(places), (same, same))
    return Record(("a", "b"), ("DET", "NOUN"), (0.75, 1.0), layers(2), "toy", noun="word", outcomes=found)


def not_measured() -> Record:
    torch.manual_seed(3)
    places = (Place("a", 0, "DET", 0.75), Place("b", 1, "NOUN", 0.0))
    return Record(
        ("a", "b"), ("DET", "NOUN"), (0.75, 0.0), layers(2), "toy", outcomes=Outcomes("labels", "item", places)
    )


def whole(kind: str, pooling: bool, questions: int = 1) -> Record:
    """One answer for the whole, or one for each question."""
    torch.manual_seed(4)
    names = ["the whole"] if questions == 1 else [f"question {number}" for number in range(questions)]
    said: list[tuple[str, float | None]] = [("4.25", None) if kind == "numbers" else ("good", 0.625)] * questions
    places = [Place(name, None, *each) for name, each in zip(names, said, strict=True)]
    pool = LayerRecord.of_weights("pooling", torch.rand(1, 1, 5).softmax(-1), "softmax") if pooling else None
    found = outcomes(kind, "item", places, 5, (2, 3))
    return Record(WORDS, layers=layers(5), model="toy", pooling=pool, noun="word", outcomes=found)


def generated() -> Record:
    """Other items written than were read; one although another piece is likelier, one although its twin is."""
    torch.manual_seed(5)
    written = (" Ein", " Mann", " sah", " Mann")
    likelier = (None, ("Kind", 0.625), ("sah", 0.75), None)
    places = [Place(text, place, text, 0.5 + 0.1 * place, likelier[place]) for place, text in enumerate(written)]
    found = outcomes("labels", "generated", places, 5, (2, 3))
    return Record(WORDS, layers=layers(5, 4), model="toy", queries=written, noun="word", outcomes=found)


class Toy(nn.Module):
    """Two layers of attention of two heads, and three classes for each item."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
        self.output = nn.Linear(8, 3)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            vectors = vectors + layer(vectors, vectors, vectors, need_weights=False)[0]
        return self.output(vectors)


def seen(kind: str = "labels") -> Record:
    """What `see` gives of a module, with queries and keys."""
    torch.manual_seed(6)
    model, vectors = Toy().eval(), 3 * torch.randn(1, 5, 8)
    predict = {"labels": lambda output: output.softmax(-1), "vectors": lambda output: output}[kind]
    places = tuple((word, number) for number, word in enumerate(WORDS))
    return see(Case("toy", model, vectors, model, predict, kind, WORDS, places, LABELS.__getitem__, noun="word"))  # pyright: ignore[reportArgumentType]


RECORDS: dict[str, Callable[[], Record]] = {
    "labels": labels,
    "next": lambda: labels("next"),
    "nothing matters": nothing_matters,
    "not measured": not_measured,
    "a label": lambda: whole("labels", False),
    "a label, pooled": lambda: whole("labels", True),
    "a number": lambda: whole("numbers", True),
    "a vector": lambda: whole("vectors", False),
    "labels, several": lambda: whole("labels", True, 3),
    "generated": generated,
    "seen": seen,
    "seen vectors": lambda: seen("vectors"),
}


def views(record: Record) -> Iterator[tuple[str, dict[str, int | None]]]:
    """The hash of each layer, head and place of a record, and what `story_of` is given for it."""
    assert record.outcomes is not None
    heads = [(None, None), *((None, head) for head in range(1, record.layers[-1].heads + 1))]
    for layer, each in enumerate(record.layers, start=1):
        heads += [(layer, None), *((layer, head) for head in range(1, each.heads + 1))]
    for place in range(1, len(record.outcomes.places) + 1):
        for layer, head in heads:
            hash = f"#record=1&place={place}&layer={layer or 'all'}&head={head or 'all'}&key=all&lang=en"
            yield hash, {"layer": layer, "head": head, "query": place}
