"""Code in a Python of its own, which has loaded nothing yet."""

from __future__ import annotations

import subprocess
import sys


def words_of(code: str) -> list[str]:
    """Run `code` and return what it prints, word by word."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
