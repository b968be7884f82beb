"""Draw the pictures of the live page, in docs/pictures/page: each view of a few pages, as Chromium shows it.

    python docs/page_pictures.py               all of them, in about a minute
    python docs/page_pictures.py map steps     these

It needs Playwright, Pillow, RDKit, and Chromium, which CHROMIUM may name. Fonts are the system's, so that another
machine draws other letters; the numbers are those of the bundled models. The sentence of each page is kept in its
picture, under "Description".
"""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "MOST_BYTES", "PICTURES", "Picture", "compressed", "launched"]

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures" / "page"
MOST_BYTES = 92_000
MARGIN = 14
# A shade is orange if it has so much more red than blue. So many of the most frequent oranges are always kept.
ORANGE, FEW = 90, 4

SHORT = "I saw a saw ."
WORDS = (
    "The old man who saw the saw on the table said that he had never seen a better saw , and that the saw which he had "
    "bought last year was not a good saw at all ."
)
TEXT = (
    "The carpenter who lived at the end of the street had a saw that everybody in the town knew . He saw little else "
    "from morning to night . When the children came home from school they saw him at his bench , and he let them saw "
    "the ends of old boards until the light went . One winter the saw broke . He walked to the market and saw three of "
    "them , but none was as good as the old one , so he took the pieces home and put them on the wall ."
)


@dataclass(frozen=True)
class Picture:
    """One picture: the page, what of it is shown, and how.

    Args:
        page: the name of the page, one of `PAGES`.
        parts: CSS selectors of what is shown, and all that lies between them; none for the whole page.
        hash: what is chosen in the page; see docs/how-to/page.md.
        width: the width of the window.
        scheme: "light" or "dark".
        click: what is clicked first, a CSS selector.
        sharpness: the pixels of the picture for each of the page.
    """

    page: str
    parts: Sequence[str] = ()
    hash: str = ""
    width: int = 1180
    scheme: str = "light"
    click: str = ""
    sharpness: float = 2


# Narrow enough for one column: the input, the sentence and the table.
ONE_COLUMN = 860
FIRST = (".ask", ".compared-part")
FIRST_VIEW = (".live header", ".compared-part", ".heads-part")
PICTURES = {
    "readme": Picture("short", FIRST, width=ONE_COLUMN),
    "readme-dark": Picture("short", FIRST, width=ONE_COLUMN, scheme="dark"),
    "readme-zh": Picture("short", FIRST, hash="#lang=zh", width=ONE_COLUMN, sharpness=1.25),
    "readme-zh-dark": Picture("short", FIRST, hash="#lang=zh", width=ONE_COLUMN, scheme="dark", sharpness=1.25),
    "first": Picture("short", FIRST_VIEW, sharpness=1.5),
    "first-dark": Picture("short", FIRST_VIEW, scheme="dark", sharpness=1.5),
    "narrow": Picture("short", (".live header", ".compared-part"), width=360, sharpness=1.8),
    "heads": Picture("words", (".heads-part",), hash="#place=22&head=2", sharpness=1.6),
    "map": Picture("words", (".map-part",), sharpness=1.6),
    "steps": Picture(
        "short",
        (".steps-part",),
        hash="#place=4&layer=2&head=4&key=3",
        click=".steps-part summary",
        sharpness=1.4,
    ),
    "translation": Picture("translation", FIRST, width=ONE_COLUMN),
    "picture": Picture("picture", FIRST, width=ONE_COLUMN, sharpness=1.8),
    "sound": Picture("sound", FIRST, width=ONE_COLUMN, sharpness=1.4),
    "molecule": Picture("molecule", (".ask", ".sentence"), width=ONE_COLUMN, sharpness=1.6),
    "long": Picture("text", FIRST, width=ONE_COLUMN, sharpness=1),
}
"""The name of a picture, and what it shows."""


def of_model(model: str, source: str) -> Callable[[Path], Any]:
    """A function that gives the record of a bundled model on a source."""

    def record(_: Path) -> Any:
        import regard

        return regard.load(model).see(source)

    return record


def sound(folder: Path) -> Any:
    """The record of a digit that one model says and another hears."""
    import regard
    from regard.cli.main import main

    path = str(folder / "seven.wav")
    if main(["say", "synthesis", "jackson 7", "--out", path]):
        raise SystemExit("docs: the sound wasn't written")
    return regard.load("spoken-digit").see(path)


PAGES: dict[str, Callable[[Path], Any]] = {
    "short": of_model("english-pos", SHORT),
    "words": of_model("english-pos", WORDS),
    "text": of_model("english-pos", TEXT),
    "translation": of_model("german-english", "ein Mann in einem roten Hemd."),
    "picture": of_model("written-digit", str(ROOT / "docs" / "pictures" / "seven.png")),
    "sound": sound,
    "molecule": of_model("solubility", "CC(=O)Oc1ccccc1C(=O)O"),
}


def box(page: Any, parts: Sequence[str]) -> dict[str, float] | None:
    """The rectangle around some parts of a page, with a margin; None for the whole page."""
    if not parts:
        return None
    boxes = [page.locator(each).first.bounding_box() for each in parts]
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    left = max(0.0, min(each["x"] for each in boxes) - MARGIN)
    top = max(0.0, min(each["y"] for each in boxes) - MARGIN)
    right = min(size[0], max(each["x"] + each["width"] for each in boxes) + MARGIN)
    bottom = min(size[1], max(each["y"] + each["height"] for each in boxes) + MARGIN)
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def shades_of(quantised: Any) -> list[tuple[int, ...]]:
    """The shades of an image with a palette."""
    values = quantised.getpalette() or []
    return [*zip(*[iter(values)] * 3, strict=True)]


def compressed(shot: bytes, sentence: str) -> bytes:
    """A screenshot as a PNG of at most `MOST_BYTES`, with as many colours as fit.

    Raises:
        SystemExit: it is larger even with as few colours as still show a blue, an orange and their shades.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    about = PngInfo()
    about.add_itxt("Description", sentence)
    image = Image.open(io.BytesIO(shot)).convert("RGB")

    def png(drawn: Any) -> bytes:
        written = io.BytesIO()
        drawn.save(written, "PNG", optimize=True, pnginfo=about)
        return written.getvalue()

    # The colours of areas stay as they are, also an orange of which there is little; those between letters and paper
    # take the nearest. Others are spread over what there is, such as a scale. A spectrogram has too many for that.
    ranked = [shade for _, shade in sorted(image.getcolors(image.width * image.height) or [], reverse=True)]
    oranges = [(red, green, blue) for red, green, blue in ranked if red - blue > ORANGE][:FEW]  # pyright: ignore
    paper = ranked[0]

    def on_paper(shades: Sequence[Any]) -> list[Any]:
        # A tinted paper would stand out on a white page. Pillow looks a colour up by its first six bits, in which what
        # is near the paper may stand for it.
        return [paper, *(each for each in shades if max(abs(a - b) for a, b in zip(each, paper, strict=True)) > 8)]

    def palettes() -> Iterator[list[Any]]:
        for colours in (192, 128, 96, 64):
            spread = image.quantize(colours // 4, Image.Quantize.MAXCOVERAGE)
            yield on_paper([*ranked[: colours - colours // 4], *shades_of(spread)])
        for colours in (64, 48, 32):
            yield on_paper([*oranges, *shades_of(image.quantize(colours - len(oranges) - 1))])

    for shades in palettes():
        palette = Image.new("P", (1, 1))
        palette.putpalette([value for shade in shades for value in shade])
        if len(found := png(image.quantize(palette=palette, dither=Image.Dither.NONE))) <= MOST_BYTES:
            return found
    raise SystemExit(f"docs: a picture takes more than {MOST_BYTES} bytes")


def launched(driver: Any) -> Any:
    """Chromium, which the environment variable CHROMIUM may name."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or driver.chromium.executable_path
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return driver.chromium.launch(executable_path=path, args=["--disable-gpu", *sandbox])


# Whether two Chinese characters look alike, as the boxes do which stand for those that no font has.
BOXES = """() => {
  const pixels = (text) => {
    const context = new OffscreenCanvas(40, 40).getContext("2d");
    context.font = "30px system-ui, sans-serif";
    context.fillText(text, 2, 32);
    return context.getImageData(0, 0, 40, 40).data.join();
  };
  return pixels("注") === pixels("意");
}"""


def drawn(browser: Any, paths: dict[str, Path], names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The pictures, one after the other.

    Raises:
        SystemExit: a picture is of a Chinese page, and no font has its characters.
    """
    for name in names:
        wanted = PICTURES[name]
        page = browser.new_page(
            viewport={"width": wanted.width, "height": 900},
            color_scheme=wanted.scheme,
            device_scale_factor=wanted.sharpness,
            reduced_motion="reduce",
        )
        page.goto(paths[wanted.page].as_uri() + wanted.hash)
        page.wait_for_selector("html.ready")
        if "lang=zh" in wanted.hash and page.evaluate(BOXES):
            raise SystemExit(
                "docs: Chinese would be drawn as boxes, since no font has it. Install one, such as fonts-wqy-microhei."
            )
        if wanted.click:
            page.locator(wanted.click).first.click()
            # Boxes are measured from the top of the window, and pictures from that of the page.
            page.evaluate("scrollTo(0, 0)")
        # The canvas is drawn with the next frame, and the mouse rests on nothing.
        page.mouse.move(1, 1)
        page.wait_for_timeout(500)
        shot = page.screenshot(full_page=True, clip=box(page, wanted.parts))
        yield name, compressed(shot, page.locator(".sentence").inner_text())
        page.close()


def main(names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    from regard.files import write_bytes
    from regard.inspection import save_page

    names = names or [*PICTURES]
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        raise SystemExit(f"docs: a picture must be one of {', '.join(PICTURES)}, but is {unknown[0]}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        paths = {}
        for each in dict.fromkeys(PICTURES[name].page for name in names):
            paths[each] = Path(folder, f"{each}.html")
            save_page(PAGES[each](Path(folder)), paths[each])
        browser = launched(driver)
        for name, picture in drawn(browser, paths, names):
            write_bytes(FOLDER / f"{name}.png", picture)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
