"""Files that hold a record of attention, as arguments of commands."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import ArgumentError, DataError
from regard.files import open_regular

if TYPE_CHECKING:
    from regard.inspection import Record, Seen, SeenLayer

__all__ = ["check_number", "is_record", "layer_of", "names_of", "read_calls", "read_record"]


def is_record(path: str) -> bool:
    """Whether a file is to be read as a record: by its name, or since it begins as safetensors files do."""
    file = Path(path)
    if file.suffix.lower() == ".safetensors":
        return True
    with suppress(OSError), open_regular(file) as opened:
        start = opened.read(9)
        # The length of the header in eight bytes, and the header, which is JSON. Eight characters of a text would be a
        # length beyond any file.
        return start[8:] == b"{" and int.from_bytes(start[:8], "little") <= file.stat().st_size - 8
    return False


def read_record(path: str) -> tuple["Record", "Seen"]:
    """Read a record, and the calls of attention that it has.

    Raises:
        DataError: the file can't be used, or its record is empty.
    """
    from regard.inspection import load_record

    record = load_record(path)
    return record, _some(record.seen, path)


def read_calls(path: str) -> tuple["Seen", str]:
    """Read the calls of attention of a record, and why what they are about can't be read; "" if it can.

    Raises:
        DataError: the calls can't be read, or there is none.
    """
    from regard.inspection.record.record_storage import load_calls

    seen, damage = load_calls(path)
    return _some(seen, path), damage


def _some(seen: "Seen | None", path: str) -> "Seen":
    if not seen:
        said = "" if seen is None else seen.nothing
        raise DataError(f"the record must have a call of attention, but has none. {said}".strip(), path=path)
    return seen


def layer_of(seen: "Seen", layer: int, head: int, item: int) -> "SeenLayer":
    """The layer of a number, after a check of the head and the item; all count from 1.

    Raises:
        ArgumentError: there is no such layer, head or item.
    """
    check_number("--layer", layer, len(seen))
    found = seen[layer - 1]
    check_number("--head", head, found.heads)
    check_number("--item", item, found.query.shape[0])
    return found


def names_of(record: "Record", call: "SeenLayer", item: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts of the keys and of the queries of a call, numbered where they repeat; none where they aren't known.

    Args:
        record: the record that has the call; `regard see --save` keeps the items in it.
        call: the call.
        item: the number of the item of the batch, from 0.
    """
    from regard.inspection.record.numbered import numbered

    if record.seen is None or record.seen.about is None:
        return (), ()
    keys = call.key.shape[2]
    for layers, items, queries in (
        (record.layers, record.items, record.query_items),
        (record.encoder, record.items, record.items),
        (record.decoder, record.previous, record.previous),
    ):
        for layer in layers:
            places = [place for place, each in enumerate(layer.calls) if each is call]
            if not places or layer.item != item or len(items) > keys or layer.key_bounds is not None:
                continue
            own = layer.shape[0] // (1 if layer.along == "head" else len(layer.calls))
            first = places[0] * own if layer.along == "query" else 0
            padding = [str(number) for number in range(len(items) + 1, keys + 1)]
            return (*numbered(items), *padding), numbered(queries)[first : first + own]
    return (), ()


def check_number(option: str, number: int, count: int) -> None:
    """Check a number that counts from 1.

    Raises:
        ArgumentError: it isn't one of so many.
    """
    if count == 0:
        raise ArgumentError(f"`{option}` is {number}, but there is none to choose from.")
    if not 1 <= number <= count:
        raise ArgumentError(f"`{option}` must be {f'from 1 to {count}' if count > 1 else '1'}, but is {number}.")
