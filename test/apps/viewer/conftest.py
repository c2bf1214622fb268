"""What tests of the live view share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chromium import Browser, installed_browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    with installed_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
