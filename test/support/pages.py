"""The code in documents, as their readers find it."""

from __future__ import annotations

import re
from pathlib import Path


def code_blocks(page: Path) -> list[tuple[str, str]]:
    """Return (language, text) of the blocks of a page, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a page in one language, in order."""
    return [text for found, text in code_blocks(page) if found == language]
