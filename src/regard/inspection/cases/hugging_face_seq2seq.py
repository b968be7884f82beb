"""An encoder-decoder of Hugging Face's, with one source and the text that it writes, as a case for `see`."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from regard.errors import ModelError
from regard.inspection.capture.watch import PartlySeen, record_calls
from regard.inspection.cases.case import Case, Layers
from regard.inspection.cases.hugging_face_source import Source, runner
from regard.inspection.record.record import LayerRecord
from regard.inspection.record.seen import Seen
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["MOST_WRITTEN", "seq2seq_case"]

MOST_WRITTEN = 128
"""A text that the model writes is cut after so many tokens."""

# A decoder may have fewer positions than its encoder; the first of these that a configuration has counts.
_POSITIONS = ("max_decoder_position_embeddings", "max_target_positions", "max_position_embeddings")


def seq2seq_case(model: Any, name: str, source: Source, piece: Callable[[int], str]) -> Case:
    """The case of a model and a source. It predicts each token of the written text from the tokens before it.

    The text is written greedily, and cut after `MOST_WRITTEN` tokens. What is watched and changed is one pass over the
    whole text. A hidden item is hidden from the other items and from the text, as by the model's attention mask.

    Args:
        model: the model, in evaluation mode.
        name: its name.
        source: what its encoder reads.
        piece: the text of a token that is written, given its number.

    Raises:
        ModelError: the model can't write, or its decoder doesn't attend to each of the items.
    """
    everything = _written(model, name, source.inputs)
    previous, said = everything[:-1], everything[1:]
    parts = _parts(model, name, source, previous[0])
    pieces = tuple(map(piece, said))
    return Case(
        name,
        model,
        source.inputs | {"decoder_input_ids": torch.tensor([previous], device=model.device)},
        runner(model, name, use_cache=False),
        lambda output: output.logits.softmax(-1),
        "labels",
        source.items,
        tuple((text, number) for number, text in enumerate(pieces)),
        classes=piece,
        answers=tuple(said),
        form="generated",
        noun=source.noun,
        layers=parts.layers,
        queries=pieces,
        hide=lambda item: source.hiding(item, (*parts.encoder, *parts.cross)),
        previous=tuple(map(piece, previous)),
        note=parts.note,
    )


class _Parts(NamedTuple):
    """Which modules attend from what to what.

    Args:
        encoder: the names of those in which the items attend to each other.
        decoder: the names of those in which the written tokens do.
        cross: the names of those in which the written tokens attend to the items.
        source: the items.
        note: where items can't be hidden, as a sentence; "" if nowhere.
    """

    encoder: tuple[str, ...]
    decoder: tuple[str, ...]
    cross: tuple[str, ...]
    source: Source
    note: str

    def layers(self, seen: Seen) -> Layers:
        """The layers of the calls that were seen."""

        def of(title: str, names: tuple[str, ...], layer: Callable[[str, SeenLayer], LayerRecord]) -> Any:
            calls = [each for each in seen if each.name in names]
            return tuple(layer(f"{title}, layer {number}", each) for number, each in enumerate(calls, start=1))

        return Layers(
            of("cross-attention", self.cross, self.source.from_others),
            None,
            of("encoder", self.encoder, self.source.to_itself),
            of("decoder", self.decoder, lambda name, call: LayerRecord(name, (call,))),
        )


def _written(model: Any, name: str, inputs: dict[str, Any]) -> list[int]:
    """The numbers of the token that a model starts from, and of those that it writes."""
    config = model.config.get_text_config(decoder=True)
    positions = next((getattr(config, each) for each in _POSITIONS if isinstance(getattr(config, each, None), int)), 0)
    # Models of speech begin with tokens that name the language and the task, and those have positions too.
    room = positions if model.main_input_name == "input_ids" else positions // 2
    most = min(MOST_WRITTEN, room) if room else MOST_WRITTEN
    # A folder may have settings of its own for searching among several texts. Of a tensor, models of speech leave out
    # the first and the last token.
    greedy = {"do_sample": False, "num_beams": 1, "num_return_sequences": 1, "return_dict_in_generate": True}
    try:
        (found,) = model.generate(**inputs, **greedy, max_new_tokens=most).sequences.tolist()
    except Exception as error:
        # What is missing in a configuration raises errors of many kinds.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(
            f"{name} must write a text, but its generate fails: {lines[0].rstrip('.')}. Look at its "
            "generation_config.json."
        ) from error
    return found


def _parts(model: Any, name: str, source: Source, start: int) -> _Parts:
    """Which modules attend from what to what, by the sizes of their calls."""
    count = source.length
    # Another number of tokens than of items, so that sizes tell the kinds apart. A single token would do, but some
    # models call attention in another way for it.
    written = 2 if count != 2 else 3
    tokens = torch.full((1, written), start, device=model.device)
    with torch.no_grad(), warnings.catch_warnings():
        # The pass that is watched says it again.
        warnings.simplefilter("ignore", PartlySeen)
        with record_calls(model, rows=0) as seen:
            model(**source.inputs, decoder_input_ids=tokens, use_cache=False)
    kinds = {(count, count): "encoder", (written, written): "decoder", (written, count): "cross"}
    found: dict[str, set[str]] = {}
    for call in seen:
        found.setdefault(call.name, set()).add(kinds.get(_sizes(call), "other"))
    named = {
        kind: tuple(each for each, own in found.items() if own == {kind}) for kind in ("encoder", "decoder", "cross")
    }
    if not named["cross"]:
        why = seen.nothing or "Its attention has other queries or keys."
        raise ModelError(
            f"{name} must attend from each written token to each item of the source, but doesn't. {why} Write a Python "
            "file with a function that returns the model and its inputs."
        )
    others = [each for each in found if not any(each in names for names in named.values())]
    unknown = ", ".join(others) or ("" if named["encoder"] else "the encoder")
    note = f"Items couldn't be hidden in {unknown}: what is attended to there aren't single items." if unknown else ""
    return _Parts(**named, source=source, note=note)


def _sizes(call: SeenLayer) -> tuple[int, int]:
    return call.query.shape[2], call.key.shape[2]
