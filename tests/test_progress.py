"""Progress: what is shown, and that the steps of a training are passed on as they are."""

import io
import re

import pytest
from rich.console import Console

import regard.progress
from regard.errors import UnknownNameError
from regard.progress import Progress, choose_progress, progress_over


@pytest.fixture
def written(monkeypatch):
    """What is written to standard error, which is a terminal if `terminal` is called."""
    out = io.StringIO()

    def of(terminal):
        monkeypatch.setattr(
            regard.progress,
            "Console",
            lambda stderr: Console(file=out, force_terminal=terminal, width=80, _environ={}),
        )
        return out

    return of


def test_ten_lines_where_nobody_watches_a_bar(written):
    out = written(False)
    with progress_over(iter(range(95)), 95, "auto") as steps:
        assert list(steps) == list(range(95))
    lines = out.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        f"step {number}/95" for number in (10, 19, 29, 38, 48, 57, 67, 76, 86, 95)
    ]
    assert re.fullmatch(r"step 95/95  elapsed 0:0\d  left 0:00", lines[-1])


def test_a_bar_on_a_terminal_is_gone_at_the_end(written):
    out = written(True)
    with progress_over("abc", 3, "auto") as steps:
        assert [*steps] == ["a", "b", "c"]
    assert "training" in out.getvalue()
    assert "step" not in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")


def test_an_error_ends_the_bar_before_it_is_told(written):
    out = written(True)

    def train():
        with progress_over(range(3), 3, "bar") as steps:
            for step in steps:
                _ = 1 / step

    with pytest.raises(ZeroDivisionError) as caught:
        train()
    # The cursor is visible again, although the error still holds the frame that took the steps.
    assert caught.value.__traceback__ is not None
    assert out.getvalue().rstrip("\n").endswith("\x1b[2K")
    assert out.getvalue().count("\x1b[?25h") == out.getvalue().count("\x1b[?25l") == 1


def test_nothing(written):
    out = written(True)
    with progress_over(range(3), 3, "none") as steps:
        assert [*steps] == [0, 1, 2]
    assert out.getvalue() == ""


def test_an_unknown_name():
    said = "`progress` must be one of auto, bar, lines, none, but is 'bra'"
    with pytest.raises(UnknownNameError, match=said), progress_over([], 0, "bra"):
        pass


def test_the_time_left_is_at_the_speed_since_the_beginning(monkeypatch):
    out, now = io.StringIO(), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = Progress(Console(file=out, force_terminal=True, width=80, _environ={}), has_bar=True)
    progress.start(10, "runs", done=4, counts=True)
    # Nothing was done since.
    progress.move(4)
    now[0] += 20
    progress.move(6, "the others")
    assert progress.left(6) == 40
    progress.note("six")
    progress.stop()
    assert all(text in out.getvalue() for text in ("the others", "6/10", "left 0:40", "six\n"))


def test_what_comes_before_the_first_move_slows_nothing_down_that_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = Progress()
    progress.start(10, "runs")
    for seconds, done in ((31, 1), (1, 2), (1, 3)):
        now[0] += seconds
        progress.move(done)
    assert (progress.left(3), progress.elapsed) == (7, 33)


def test_notes_are_shown_without_work(written):
    out = written(False)
    choose_progress("lines").note("[bold]as it is" + " and long" * 20)
    choose_progress("none").note("not this")
    assert out.getvalue() == "[bold]as it is" + " and long" * 20 + "\n"
