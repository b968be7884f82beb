"""The page: its size, the time to build it, and in Chromium the time to its first view and to each redraw.

    python benchmarks/pages.py            # up to 8,192 items in 12 layers of 12 heads of 64; some minutes
    python benchmarks/pages.py --quick    # up to 1,024 items; not saved

First view: from opening the file, in a new context of a running browser, to the frame in which the page is drawn and
its script is ready. Redraw: from a key that chooses another item, another head or another layer, or that zooms into the
map, to the frame after it is drawn. It needs Playwright and a Chromium (CHROMIUM names one).
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import conditions, save
from torch import nn
from watching import HEADS, WIDTH, Layer

import regard
from regard.inspection import save_page
from regard.inspection.record.record_storage import record_of

COLUMNS = ("page", "size", "built in", "first view", "redraw, median", "redraw, worst")
LAYERS = 12
ITEMS = (12, 128, 1024, 8192)
OPENINGS = 5
# What is chosen, in turn: items, heads, layers; then the same with the map closer.
KEYS = ["ArrowRight", "ArrowRight", ".", ".", "[", "ArrowLeft", "]", "a", "ArrowDown", "ArrowUp"]
# Resolves in the frame after that in which the script got ready.
READY = """
() => new Promise((done) => {
  const look = () => requestAnimationFrame(document.documentElement.classList.contains("ready") ? done : look);
  look();
})
"""
# Resolves in the frame after the one in which the key's change is drawn.
PRESS = """
([key, inside]) => new Promise((done) => {
  const target = inside ? document.querySelector("canvas.map") : document.body;
  const begin = performance.now();
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
})
"""


def sentence() -> Any:
    return regard.load("english-pos").see("I saw a saw .")


def translation() -> Any:
    return regard.load("german-english").see("ein Mann in einem roten Hemd .")


def random_items(items: int) -> Any:
    """A record of a transformer with random weights: only sizes matter here."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(LAYERS))).eval()
    with torch.inference_mode(), regard.watch(model) as seen:
        model(torch.randn(1, items, WIDTH))
    return record_of(seen)


def measured(record: Any, browser: Any, folder: Path) -> dict[str, Any]:
    """The figures of a record's page: bytes, seconds of building it, and milliseconds in the browser."""
    path = folder / "page.html"
    begin = time.perf_counter()
    save_page(record, path)
    built = time.perf_counter() - begin
    views, redraws = [], []
    for _ in range(OPENINGS):
        context = browser.new_context(viewport={"width": 1180, "height": 900}, offline=True)
        page = context.new_page()
        begin = time.perf_counter()
        page.goto(path.as_uri(), wait_until="commit")
        page.evaluate(READY)
        views.append(1000 * (time.perf_counter() - begin))
        redraws += [page.evaluate(PRESS, [key, False]) for key in KEYS]
        for _ in range(3):
            redraws += [page.evaluate(PRESS, ["+", True]), page.evaluate(PRESS, ["ArrowRight", False])]
        context.close()
    return {
        "bytes": path.stat().st_size,
        "built": built,
        "first view": statistics.median(views),
        "redraw": statistics.median(redraws),
        "worst redraw": max(redraws),
    }


def cells(name: str, found: dict[str, Any]) -> list[str]:
    size = found["bytes"]
    return [
        name,
        f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB",
        f"{found['built']:.2g} s",
        f"{found['first view']:.0f} ms",
        f"{found['redraw']:.0f} ms",
        f"{found['worst redraw']:.0f} ms",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 1,024 items; nothing is saved")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    cases: dict[str, Callable[[], Any]] = {
        "five words, english-pos": sentence,
        "a translation of seven words, german-english": translation,
    }
    for items in ITEMS[:-1] if options.quick else ITEMS:
        name = f"{items:,} items, {LAYERS} layers of {HEADS} heads of {WIDTH // HEADS}, random"
        cases[name] = lambda items=items: random_items(items)
    details = {}
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium") or driver.chromium.executable_path
        arguments = ["--disable-gpu", "--disable-background-networking"]
        # Its sandbox refuses to start for root.
        arguments += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        for name, record in cases.items():
            details[name] = measured(record(), browser, Path(folder))
            print(" | ".join(cells(name, details[name])), flush=True)
        facts = conditions("regard", chromium=browser.version, openings=OPENINGS, threads=torch.get_num_threads())
        browser.close()
    if not options.quick:
        save("pages", COLUMNS, [cells(*each) for each in details.items()], facts, details=details)


if __name__ == "__main__":
    main()
