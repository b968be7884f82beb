"""What a live page shows of a model: first an example, then whatever is asked."""

import json
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.cli.answering.cases import Cases, check_attends
from regard.cli.server.live_app import Asked
from regard.errors import DataError, RecordWarning, RegardError, UnreliablePrediction
from regard.inspection import Record, see, story
from regard.inspection.views.page_data import page_data
from regard.page import Page, Prose, as_live_html
from regard.page.visible import visible

__all__ = ["LiveModel"]

# What mattered is measured without being asked for if it takes less: seconds, by the time of one run for each change.
_QUICK = 1.0
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


class LiveModel:
    """Answers inputs with records of one model.

    Args:
        cases: the model.
    """

    def __init__(self, cases: Cases):
        self._cases = cases

    def document(self) -> str:
        """The page, which shows the model's example if it has one."""
        cases = self._cases
        title = f"{cases.name}: what it attended to, and what mattered"
        if cases.example is None:
            static = Page(title, (Prose("This page needs a script, which the browser doesn't run."),))
            data, arrays = page_data([], [])
        else:
            record = self._record(cases.example, None, lambda done, total: None)
            static = Page(title, story(record).blocks)
            data, arrays = page_data([record], [cases.example])
        data["asks"] = {"takes": cases.takes, "noun": cases.noun, "text": cases.example or "", "model": cases.name}
        return as_live_html(static, data, arrays, asks=True)

    def answer(self, asked: Asked, check: Callable[[], None]) -> bytes:
        """The values, the packed arrays and the warnings of a new record, as JSON.

        Args:
            asked: what is asked.
            check: called now and then; it raises an error if nobody waits for the answer any more.

        Raises:
            RegardError: the model can't read the input, or attends to nothing in it.
        """

        def progress(done: int, total: int) -> None:
            check()

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("ignore")
            for kind in (UnreliablePrediction, RecordWarning):
                warnings.simplefilter("always", kind)
            if asked.content is None:
                record = self._record(asked.text, asked.effects, progress)
            else:
                with _written(asked) as path:
                    record = self._record(path, asked.effects, progress)
        check()
        data, arrays = page_data([record], [asked.name or asked.text])
        notes = list(dict.fromkeys(visible(str(each.message)) for each in told))
        return json.dumps(
            {"values": data, "packed": arrays.packed(), "notes": notes}, ensure_ascii=True, allow_nan=False
        ).encode()

    def _record(self, source: str, effects: bool | None, progress: Callable[[int, int], None]) -> Record:
        """The record, with what mattered if that was asked for, or takes under a second."""
        case = self._cases.case(source)
        begin = time.perf_counter()
        record = see(case, effects=effects, progress=progress)
        check_attends(record)
        changes = len(record.items) + sum(each.heads for each in record.every_layer)
        if effects is False and (time.perf_counter() - begin) * changes < _QUICK:
            record = see(case, effects=True, progress=progress)
        return record


@contextmanager
def _written(asked: Asked) -> Any:
    """The file in a folder of its own; errors name it as its owner does."""
    ending = _SUFFIX.fullmatch(Path(asked.name).suffix)
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        path = Path(folder) / f"input{ending.group() if ending else ''}"
        path.write_bytes(asked.content or b"")
        try:
            yield str(path)
        except (RegardError, OSError) as error:
            raise DataError(str(error).replace(str(path), visible(asked.name or "the file"))) from error
