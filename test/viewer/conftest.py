"""What tests of the live view share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
import system_packages
from chromium import Browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    system_packages.need_commands("chromium")
    program = shutil.which("chromium")
    assert program is not None
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
