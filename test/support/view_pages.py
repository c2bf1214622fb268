"""Pages of the live view in a real browser: where things are on them, and what is selected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
from chromium import Browser, Page, until


def opened(browser: Browser, view: Any) -> Page:
    """Return another page of `view`, once the server knows from where it looks."""
    before = view.pages
    page = browser.open(view.url)
    until(lambda: view.pages > before, "the server knows the page")
    return page


@contextmanager
def sole_page(browser: Browser, view: Any) -> Iterator[Page]:
    """Give a page of `view`; both are closed at the end, where the page must have met no error."""
    page = opened(browser, view)
    try:
        yield page
        assert page.errors == [], page.errors
    finally:
        page.close()
        view.close()


def pixel(view: Any, *point: float) -> tuple[float, float]:
    x, y = view.cameras[0].pixel_of(np.array(point))
    return float(x), float(y)


def close_notices(page: Page) -> None:
    """Close the notice about a slow OpenGL, which covers a part of the picture."""
    page.run("document.querySelectorAll('.mantine-Notification-closeButton').forEach(button => button.click())")


def select(page: Page, view: Any, name: str, *point: float) -> None:
    """Click a robot until it is selected: a page that has just come may not listen yet."""

    def selected() -> bool:
        close_notices(page)
        page.click(*pixel(view, *point))
        return name in page.text()

    until(selected, f"{name} is selected")


def color_at(page: Page, x: float, y: float) -> tuple[int, int, int]:
    from PIL import Image

    close_notices(page)
    return Image.open(BytesIO(page.picture())).convert("RGB").getpixel((round(x), round(y)))
