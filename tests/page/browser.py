"""A page in a real browser: one Chromium for the tests of a module, a fresh and offline context for each test.

`live` opens a file and gives what a reader has; what a page must never do (fetch, fail, violate its policy) is checked
when the test ends.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCHEMES = ("file:", "data:", "blob:")
NO_DRIVER = "the page in a browser: install its driver by pip install playwright"
NO_BROWSER = (
    "the page in a browser: install Debian's by apt-get install chromium-headless-shell, or Playwright's by playwright "
    "install chromium, or name the file of one in CHROMIUM"
)
# Before the page's own script: what violates the policy, and what dialogs a script opened.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI}`));
"""


def executable(own: str) -> str | None:
    """The browser to start: that of CHROMIUM, the system's, or the driver's own."""
    if "CHROMIUM" in os.environ:
        return os.environ["CHROMIUM"]
    # The shell first: it draws the same pages without a window around them, in a third of the time.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    return found or (own if Path(own).exists() else None)


# Not for the whole session: while it runs, asyncio.run is refused to the other tests of the process.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A started Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason=NO_DRIVER)
    with sync_api.sync_playwright() as driver:
        path = executable(driver.chromium.executable_path)
        if path is None:
            pytest.skip(NO_BROWSER)
        # Its sandbox refuses to start for root.
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=[*ARGUMENTS, *sandbox])
        yield browser
        browser.close()


@dataclass
class Heard:
    """What happened in a context: requests that leave the file, messages, errors, dialogs, navigations."""

    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    attacked: bool = False

    def hear(self, page: Any) -> None:
        page.on("request", lambda each: each.url.startswith(SCHEMES) or self.requests.append(each.url))
        page.on("console", lambda each: self.messages.append(each.text))
        page.on("pageerror", lambda each: self.messages.append(str(each)))
        page.on("dialog", lambda each: (self.dialogs.append(each.message), each.dismiss()))
        page.on("framenavigated", lambda each: self.visited.add(each.url.partition("#")[0]))

    def nothing(self, page: Any) -> None:
        """Fail if a page did what none may do, unless a test attacked it."""
        if self.attacked:
            return
        assert self.requests == []
        assert self.messages == []
        assert self.dialogs == []
        assert page.evaluate("window.violations ?? []") == []
        assert len(self.visited) == 1, self.visited


@pytest.fixture
def context(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Makes contexts, offline, with the options of `new_context`."""
    made = []

    def make(width: int = 1180, height: int = 900, **options: Any) -> Any:
        made.append(chromium.new_context(viewport={"width": width, "height": height}, offline=True, **options))
        made[-1].set_default_timeout(20_000)
        made[-1].add_init_script(WATCH)
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def live(context: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Writes a document, opens it from the disk and waits until its script is ready."""
    opened: list[tuple[Any, Heard]] = []

    def open_page(text: str, hash: str = "", **options: Any) -> Any:
        path = tmp_path / f"page-{len(opened)}.html"
        path.write_text(text, encoding="utf-8")
        page, heard = context(**options).new_page(), Heard()
        heard.hear(page)
        page.goto(path.as_uri() + hash)
        page.heard = heard
        opened.append((page, heard))
        # An error of its script is told at once, and not after the time that a page may take.
        while not page.evaluate("document.documentElement.classList.contains('ready')"):
            assert heard.messages == []
            page.wait_for_timeout(20)
        return page

    yield open_page
    for page, heard in opened:
        heard.nothing(page)


@pytest.fixture
def script(context: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a module of the page by itself: `script(source, "expression of x", argument)`."""
    blank = context().new_page()

    def run(source: str, expression: str, argument: Any = None) -> Any:
        return blank.evaluate(f"async (x) => {{ {source}\n return {expression}; }}", argument)

    return run


def axe(page: Any) -> Sequence[str]:
    """What axe finds: the rule and the elements of each violation."""
    package = pytest.importorskip("axe_playwright_python", reason="axe: pip install axe-playwright-python")
    source = Path(package.__file__).parent / "axe.min.js"
    page.evaluate(source.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{each['id']}: {[node['html'][:160] for node in each['nodes'][:4]]}" for each in found]
