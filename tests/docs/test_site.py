"""The site builds without a warning, loads nothing from outside, and its links lead somewhere, in both languages."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from regard import attention

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("object", "data")}


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site that REGARD_SITE names, as `make site` has just built it, or one built here."""
    if built := os.environ.get("REGARD_SITE"):
        return ROOT / built
    pytest.importorskip("sphinx", reason="the site needs the group `site`")
    folder = tmp_path_factory.mktemp("built") / "site"
    subprocess.run(
        ["make", "--no-print-directory", "site-pages", f"SPHINX={sys.executable} -m sphinx", f"SITE={folder}"],
        cwd=ROOT,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_the_links_of_the_site_lead_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            where = urlsplit(link)
            if where.scheme or where.netloc or link == "#":
                continue
            to = (path.parent / unquote(where.path)).resolve() if where.path else path
            if not to.exists():
                broken.append(f"{path.name}: {link}")
            elif where.fragment and to in pages and unquote(where.fragment) not in pages[to].anchors:
                broken.append(f"{path.name}: {link}, which has no such place")
    assert broken == []


@pytest.mark.slow
def test_the_site_loads_nothing_from_outside(site, pages):
    assert [each for page in pages.values() for each in page.loaded if urlsplit(each).netloc] == []
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path


@pytest.mark.slow
def test_every_page_and_every_public_name_is_on_the_site(site, pages):
    english = [path for path in DOCS.rglob("*.md") if not path.is_relative_to(DOCS / "zh")]
    for path in english:
        assert (site / path.relative_to(DOCS)).with_suffix(".html") in pages
    for path in (DOCS / "zh").rglob("*.md"):
        assert (site / path.relative_to(DOCS)).with_suffix(".html") in pages
    reference = pages[site / "reference" / "api" / "attention.html"]
    for name in attention.__all__:
        if callable(getattr(attention, name)):
            assert f"regard.attention.{name}" in reference.anchors


@pytest.mark.slow
def test_search_knows_both_languages(site):
    english, chinese = ((folder / "searchindex.js").read_text(encoding="utf-8") for folder in (site, site / "zh"))
    assert "entmax" in english
    assert "注意" in json.loads(re.search(r"\((.*)\)", chinese, re.DOTALL)[1])["terms"]
    for folder in (site, site / "zh"):
        language = (folder / "_static" / "language_data.js").read_text(encoding="utf-8")
        (stemmer,) = re.findall(r"window\.Stemmer = (\w+);", language)
        assert re.search(rf"{stemmer} ?= ?function", language), f"{stemmer} isn't defined"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "other"),
    [
        ("tutorials/text.html", "zh/tutorials/text.html"),
        ("zh/tutorials/text.html", "tutorials/text.html"),
        ("explanation/notes.html", "zh/notes.html"),
        ("zh/notes.html", "explanation/notes.html"),
        ("reference/cli.html", "zh/index.html"),
    ],
)
def test_a_page_leads_to_its_translation(site, page, other):
    """A page without one leads to the first page in the other language."""
    (link,) = re.findall(r'<a class="language" href="([^"]+)"', (site / page).read_text(encoding="utf-8"))
    assert ((site / page).parent / link).resolve() == (site / other).resolve()


def test_every_room_has_a_page_of_its_names():
    """The rooms of the package that have public names, each with a page of the API reference."""
    rooms = {path.parent.name for path in (ROOT / "src" / "regard").glob("*/__init__.py")} - {"cli"}
    pages = {path.stem for path in (DOCS / "reference" / "api").glob("*.md")}
    assert pages == rooms | {"errors", "huggingface", "testing"}
    for name in pages:
        assert re.search(r"^\.\. automodule:: regard\.", (DOCS / f"reference/api/{name}.md").read_text(), re.MULTILINE)
