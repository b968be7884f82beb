"""Draw docs/pictures/detector.png: what the object queries of `regard lab detector` attend to on one canvas.

    python docs/detector_picture.py             train the example of the study, in minutes, and draw a part of its page

It needs Playwright, Pillow, SciPy, Chromium, which CHROMIUM may name, and MNIST where REGARD_DATA says. Another machine
may find slightly other boxes.
"""

from pathlib import Path
from typing import Any

from page_pictures import compressed, launched

from regard.lab import STUDIES
from regard.page import Page, Prose

__all__ = ["PART", "PATH", "screenshot"]

PATH = Path(__file__).parent / "pictures" / "detector.png"
PART = "What the queries attend to on canvas 2"
WIDTH = 1000


def screenshot(browser: Any, page: Page, part: str = PART) -> bytes:
    """The pictures of a page whose caption has `part`, as the browser shows them, with the page's first sentence."""
    from regard.page import as_html

    window = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    window.set_content(as_html(page))
    shot = window.locator(".pictures").filter(has_text=part).first.screenshot()
    window.close()
    return compressed(shot, next(block.text for block in page.blocks if isinstance(block, Prose)))


def main() -> None:
    from playwright.sync_api import sync_playwright

    page = STUDIES["detector"].show_example(progress="auto")
    with sync_playwright() as driver:
        browser = launched(driver)
        PATH.write_bytes(screenshot(browser, page))
        browser.close()


if __name__ == "__main__":
    main()
