"""Shape annotations are checked in every test; a user pays nothing for them."""

import gc
import importlib
import importlib.util
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

# Garbage collections while 16,000 tests are collected find none, and take a third of the time.
gc.disable()
SOURCE = Path(__file__).parent.parent / "src"
# Before any room is imported, so that every function with a shape in its signature is checked on every call. Files
# without shapes aren't: functions inside of functions would be prepared for it anew each time, at three times the cost.
STATING_SHAPES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for room in ("attention", "inputs", "modules")
    for path in sorted((SOURCE / "regard" / room).rglob("*.py"))
    if "from jaxtyping import" in path.read_text(encoding="utf-8")
]
install_import_hook(STATING_SHAPES, "beartype.beartype")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="where the tests of attention put their tensors: cpu, cuda")


def pytest_configure(config: pytest.Config) -> None:
    # The mode that a default device sets changes what is traced: a CPU is tested as a user has it, without.
    if config.getoption("--device") != "cpu":
        torch.set_default_device(config.getoption("--device"))
    elif importlib.util.find_spec("triton") is not None:
        # Triton is made for its interpreter or for a GPU when it is imported, and torch imports it when it compiles.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRITON_INTERPRET", "1")
            importlib.import_module("triton")
            # So are kernels, which the `piece()` of a part imports.
            importlib.import_module("regard.attention.engines.triton.problem")
    # A shell that starts a process in the background makes it ignore Ctrl-C, and all that it starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave modules and tests out of later garbage collections: they stay, and a full one would take a second."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let go of them at the end: what is frozen isn't, and Triton's binding tells of all of its that is left."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def only_on_a_cpu() -> None:
    if torch.get_default_device().type != "cpu":
        pytest.skip("what is tested runs on a CPU only")


@pytest.fixture
def real_data() -> Path:
    """The folder with the real data sets; a machine without it says so."""
    folder = os.environ.get("REGARD_DATA")
    if not folder:
        pytest.skip("real data: set REGARD_DATA to the folder that holds ud-english-ewt and the others")
    return Path(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up what tests counted under "contract", and print it."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for what, count in report.user_properties:
            if what.startswith("contract: "):
                counts[what] += count
    for what, count in sorted(counts.items()):
        terminalreporter.write_line(f"{what}: {count:,}")


pytest_plugins = ["page.browser", "sampling"]
