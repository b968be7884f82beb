"""The page of regard beside those of other viewers of attention: the size of the file, and the time until it is drawn.

    pip install --no-deps bertviz==1.4.1 inspectus==0.2.0 treescope==0.1.10
    pip install playwright ipython
    npm install --prefix FOLDER requirejs@2.3.6 d3@5.7.0 jquery@2.2.4
    python benchmarks/viewers.py --scripts FOLDER/node_modules
    python benchmarks/viewers.py --scripts FOLDER/node_modules --keep PAGES    leave the pages in a folder

All viewers get the same weights: those of two bundled models, and of a random model with 512 and 2,000 items. The page
is opened from the disk, in Chromium. What it asks the network for is counted, and answered from `--scripts`.
"""

import argparse
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from measuring import conditions, save, version
from torch import Tensor, nn

import regard
from regard.inspection import Case, LayerRecord, Record, live_page, see

ROUNDS = 3
# Seconds, after which a page isn't waited for.
PATIENCE = 240
# A page that took longer than that is opened once.
SLOW = 5
SHORT = "I saw a saw ."
LONG = (
    "The old man who saw the saw on the table said that he had never seen a better saw , and that the saw which he had "
    "bought last year was not a good saw at all ."
)
PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "seven.png"
SCRIPTS = {
    "require.js": "requirejs/require.js",
    "/d3/": "d3/dist/d3.min.js",
    "/jquery/": "jquery/dist/jquery.min.js",
}
# Its clock starts with the navigation. A task after the next frame runs when that frame is painted.
CLOCK = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) { return attach.call(this, { ...options, mode: "open" }); };
const everywhere = (selector, root = document) => [...root.querySelectorAll("*")].flatMap((each) =>
  [...(each.matches(selector) ? [each] : []), ...(each.shadowRoot ? everywhere(selector, each.shadowRoot) : [])]);
// Some columns of a canvas, as one may lie between two maps.
const columns = (canvas) => [0.2, 0.3, 0.6].map((at) =>
  canvas.getContext("2d").getImageData(Math.floor(at * canvas.width), 0, 1, canvas.height).data);
const filled = (each) => each.localName !== "canvas" ||
  (each.width > 1 && each.height > 1 && columns(each).some((column) => column.some(Boolean)));
const tell = () => console.log("drawn", performance.now(), everywhere("*").length);
const look = () => requestAnimationFrame(everywhere(SELECTOR).some(filled) ? () => setTimeout(tell) : look);
requestAnimationFrame(look);
"""


@dataclass(frozen=True, eq=False)
class Input:
    """What all viewers show: a record and its weights, (head, query, key) for each layer."""

    name: str
    record: Record

    @property
    def weights(self) -> list[Tensor]:
        return [layer.weights() for layer in self.record.layers]

    @property
    def items(self) -> list[str]:
        return list(self.record.items)


@dataclass(frozen=True)
class Viewer:
    """A viewer: its package, what makes its page, and what is on the page when the weights are drawn."""

    name: str
    package: str
    page: Callable[[Input], str]
    drawn: str


@dataclass(frozen=True)
class Opened:
    """A page in the browser: the seconds until it was drawn, None if it never was; its elements and its requests."""

    seconds: float | None
    elements: int
    requests: int


def inputs() -> Iterator[Input]:
    tagger = regard.load("english-pos")
    yield Input("5 words", tagger.see(SHORT))
    yield Input(f"{len(LONG.split())} words", tagger.see(LONG))
    picture = regard.load("written-digit").see(str(PICTURE))
    yield Input(f"{len(picture.items)} patches", picture)
    for items in (512, 2000):
        yield Input(f"n = {items:,}", random_record(items))


class Layers(nn.Module):
    """Two layers of attention, of four heads."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.MultiheadAttention(128, 4, batch_first=True) for _ in range(2))

    def forward(self, vectors: Tensor) -> Tensor:
        for layer in self.layers:
            vectors = vectors + layer(vectors, vectors, vectors, need_weights=False)[0]
        return vectors


def random_record(items: int) -> Record:
    """The attention of random layers to random vectors; what mattered isn't measured."""
    torch.manual_seed(0)
    model, names = Layers().eval(), tuple(f"item{number}" for number in range(1, items + 1))
    places = tuple((name, number) for number, name in enumerate(names))
    vectors = 3 * torch.randn(1, items, 128)
    case = Case("random", model, vectors, model, lambda output: output, "vectors", names, places)
    return see(case, effects=False)


def of_regard(shown: Input) -> str:
    return live_page(shown.record)


def of_regard_weights(shown: Input) -> str:
    layers = tuple(LayerRecord.of_weights(f"layer {n}", each) for n, each in enumerate(shown.weights, start=1))
    return live_page(Record(shown.record.items, layers=layers, model="weights"))


def of_bertviz(view: str, **options: str) -> Callable[[Input], str]:
    def page(shown: Input) -> str:
        import bertviz

        weights = [each.unsqueeze(0) for each in shown.weights]
        return document(getattr(bertviz, view)(weights, shown.items, html_action="return", **options).data)

    return page


def of_inspectus(shown: Input) -> str:
    import inspectus

    parts: list[Any] = []
    with mock.patch("IPython.display.display", parts.append):
        inspectus.attention(torch.stack(shown.weights), shown.items)
    return document("\n".join(each.data for each in parts))


def of_treescope(shown: Input) -> str:
    import treescope

    # It doesn't take the tensors of torch 2.13.
    figure = treescope.render_array(
        torch.stack(shown.weights).numpy(),
        columns=(3, 1),
        rows=(2, 0),
        axis_item_labels={2: shown.items, 3: shown.items},
        axis_labels={0: "layer", 1: "head", 2: "query", 3: "key"},
        around_zero=False,
        vmin=0,
        vmax=1,
    )
    return document(figure._repr_html_())


def document(body: str) -> str:
    return f'<!doctype html>\n<meta charset="utf-8">\n{body}'


VIEWERS = (
    Viewer("regard", "regard", of_regard, "canvas.map"),
    Viewer("regard, of weights alone", "regard", of_regard_weights, "canvas.map"),
    Viewer("BertViz, head view", "bertviz", of_bertviz("head_view"), "#vis svg line"),
    Viewer("BertViz, model view", "bertviz", of_bertviz("model_view", display_mode="light"), "#vis svg line"),
    Viewer("Inspectus", "inspectus", of_inspectus, "svg rect"),
    Viewer("Treescope", "treescope", of_treescope, "canvas"),
)


def opened(browser: Any, path: Path, drawn: str, scripts: Path | None) -> Opened:
    """Open a page, and wait until its weights are drawn."""
    from playwright.sync_api import Error, TimeoutError

    requests: list[str] = []

    def answer(route: Any) -> None:
        requests.append(route.request.url)
        found = next((file for part, file in SCRIPTS.items() if part in route.request.url), None)
        if scripts is None:
            route.continue_()
        elif found is None:
            route.abort()
        else:
            route.fulfill(path=scripts / found, content_type="text/javascript")

    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.route(re.compile("^https?:"), answer)
    context.add_init_script(CLOCK.replace("SELECTOR", repr(drawn)))
    page = context.new_page()
    try:
        # A page that is busy, or has a policy, answers no question, but says when it is done.
        wait = {"predicate": lambda each: each.text.startswith("drawn "), "timeout": 1000 * PATIENCE}
        with page.expect_console_message(**wait) as message:
            page.goto(path.as_uri(), wait_until="commit", timeout=1000 * PATIENCE)
        _, milliseconds, elements = message.value.text.split()
        return Opened(float(milliseconds) / 1000, int(elements), len(set(requests)))
    except Error as error:
        if not isinstance(error, TimeoutError) and "crashed" not in str(error):
            raise
        return Opened(None, 0, len(set(requests)))


def started(driver: Any) -> Any:
    """Chromium: that of CHROMIUM, the system's, or the driver's own."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or driver.chromium.executable_path
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return driver.chromium.launch(executable_path=path, args=["--disable-gpu", *sandbox])


def said(size: int, found: Sequence[Opened]) -> str:
    """A cell of the table."""
    file = f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    seconds = [each.seconds for each in found if each.seconds is not None]
    if len(seconds) < len(found):
        return f"{file}, not drawn"
    least, elements = min(seconds), max(each.elements for each in found)
    return f"{file}, {least:.0f} s, {elements:,}" if least >= 10 else f"{file}, {least:.2g} s, {elements:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", type=Path, help="the folder node_modules with require.js, d3 and jQuery")
    parser.add_argument("--keep", type=Path, help="leave the pages in this folder")
    chosen = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        pages = chosen.keep or Path(folder)
        pages.mkdir(exist_ok=True, parents=True)
        cells: dict[Viewer, list[str]] = {viewer: [] for viewer in VIEWERS}
        asked = dict.fromkeys(VIEWERS, 0)
        columns = []
        browser = started(driver)
        chromium = browser.version
        browser.close()
        for shown in inputs():
            columns.append(shown.name)
            paths = {}
            for viewer in VIEWERS:
                paths[viewer] = pages / f"{re.sub('[^a-zA-Z0-9]+', '-', f'{viewer.name} {shown.name}')}.html"
                paths[viewer].write_text(viewer.page(shown), encoding="utf-8")
            found: dict[Viewer, list[Opened]] = {viewer: [] for viewer in VIEWERS}
            # They take turns, and the least time counts, as the machine may be busy.
            for turn in range(ROUNDS):
                for viewer, path in paths.items():
                    last = found[viewer][-1].seconds if turn else 0
                    if last is None or last > SLOW:
                        continue
                    # A browser of its own, as the memory of a large page stays.
                    browser = started(driver)
                    found[viewer].append(opened(browser, path, viewer.drawn, chosen.scripts))
                    browser.close()
            for viewer, path in paths.items():
                cells[viewer].append(said(path.stat().st_size, found[viewer]))
                asked[viewer] = max(asked[viewer], *(each.requests for each in found[viewer]))
                print(shown.name, viewer.name, cells[viewer][-1], sep="\t", flush=True)
                if chosen.keep is None:
                    path.unlink()
    rows = [(f"{viewer.name} {version(viewer.package)}", *cells[viewer], asked[viewer]) for viewer in VIEWERS]
    more = {"Chromium": chromium} | ({"jQuery": "2.2.4 in place of 2.0.0"} if chosen.scripts else {})
    save(
        "viewers",
        ["viewer", *columns, "files from the network"],
        rows,
        conditions("playwright", least_of=ROUNDS, seconds_waited=PATIENCE, **more),
    )


if __name__ == "__main__":
    main()
