"""The pictures of the live page: they are there, small, embedded with words, and say what the models still say."""

import importlib
import re
from pathlib import Path

import pytest

import regard
from regard.inspection import story
from regard.page import as_text
from regard.page.numbers import percent

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "README.zh.md", *(ROOT / "docs").rglob("*.md")]
MARKDOWN = re.compile(r"!\[([^\]]+)\]\(([^)]*pictures/page/[^)]+)\)")
IMAGE = re.compile(r'<img alt="([^"]+)" src="([^"]*pictures/page/[^"]+)">')
DARK = re.compile(r'<source media="\(prefers-color-scheme: dark\)" srcset="([^"]*pictures/page/[^"]+)">')


@pytest.fixture(scope="module")
def pictures(docs_module):
    return docs_module("page_pictures")


def test_all_are_there_and_small(pictures):
    found = {path.stem: path for path in pictures.FOLDER.iterdir()}
    assert found.keys() == pictures.PICTURES.keys()
    for path in found.values():
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.stat().st_size <= pictures.MOST_BYTES, path


def test_weights_are_blue_and_effects_orange(pictures):
    """Too few colours for all that a picture shows would leave the rarer one out."""
    image = pytest.importorskip("PIL.Image")
    # Nothing changes the answer about the sound.
    shown = [
        name
        for name, picture in pictures.PICTURES.items()
        if picture.parts in (pictures.FIRST, pictures.FIRST_VIEW) and name != "sound"
    ]
    assert len(shown) > 8
    for name in shown:
        shades = [shade for _, shade in image.open(pictures.FOLDER / f"{name}.png").convert("RGB").getcolors(1 << 24)]
        for one, other in ((2, 0), (0, 2)):
            assert any(shade[one] - shade[other] > pictures.ORANGE for shade in shades), name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_paper_is_that_of_the_page(pictures, scheme):
    """A tint of it would stand out where the picture is embedded."""
    image = pytest.importorskip("PIL.Image")
    paper = (255, 255, 255) if scheme == "light" else (0x14, 0x17, 0x1A)
    of_scheme = [name for name, picture in pictures.PICTURES.items() if picture.scheme == scheme]
    assert of_scheme
    for name in of_scheme:
        assert image.open(pictures.FOLDER / f"{name}.png").convert("RGB").getpixel((2, 2)) == paper, name


def test_each_is_embedded_and_told_in_words(pictures):
    embedded = set()
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        told = [*MARKDOWN.findall(text), *IMAGE.findall(text)]
        assert all(len(words) > 40 for words, _ in told), document
        embedded |= {(document.parent / path).resolve() for path in [*(path for _, path in told), *DARK.findall(text)]}
    assert embedded == {pictures.FOLDER / f"{name}.png" for name in pictures.PICTURES}


# The sound takes a model that says it, and the molecule RDKit.
@pytest.mark.parametrize(
    "name", ["readme", "readme-dark", "first", "first-dark", "narrow", "map", "translation", "picture"]
)
def test_the_sentence_of_a_picture_is_still_that_of_its_page(pictures, name, tmp_path, docs_module):
    image = pytest.importorskip("PIL.Image").open(pictures.FOLDER / f"{name}.png")
    record = pictures.PAGES[pictures.PICTURES[name].page](tmp_path)
    same = docs_module("generate").same
    paragraphs = as_text(story(record), width=400).splitlines()
    assert any(same(image.text["Description"], each) for each in paragraphs)


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_what_the_readme_says_first_is_measured(name):
    record = regard.load("english-pos").see("I saw a saw .")
    (place,), outcome = [each for each in record.outcomes.places if each.query == 3], record.outcomes.hidden[2][3]
    claim = re.search(r"^\*\*(.+)\*\*$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)[1]
    said = re.findall(r"[A-Z]{4} \d+%", claim)
    assert said == [f"{each.label} {percent(each.score)}" for each in (place, outcome)]
    assert (place.name, record.items[2]) == ("saw", "a")


def test_the_site_takes_a_picture_for_light_and_dark_as_one_of_markdown(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "website")
    linked = importlib.import_module("repository_links").linked
    for readme, page in (("README.md", "index.md"), ("README.zh.md", "zh/index.md")):
        source, at = ROOT / readme, ROOT / "docs" / page
        text = linked(source.read_text(encoding="utf-8"), source, at)
        assert "<picture" not in text
        ((_, path),) = MARKDOWN.findall(text)
        assert (at.parent / path).resolve().exists()
