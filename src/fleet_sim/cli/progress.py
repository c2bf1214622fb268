"""The progress of what takes long, as one line."""

from __future__ import annotations

import sys

LENGTH = 20
"""Of a bar, in characters."""


class StatusLine:
    """One line on standard error; on a terminal it is rewritten in place, elsewhere each text is a line of its own."""

    def __init__(self) -> None:
        self.in_place = sys.stderr.isatty()

    def write(self, text: str) -> None:
        """Show `text` in place of what was shown before."""
        if self.in_place:
            # Padded, so that a longer line before it does not show at its end.
            print(f"\r{text:<100}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        if self.in_place:
            print(file=sys.stderr)


def bar(filled: int) -> str:
    """Return a bar of which so many of LENGTH characters are filled."""
    return f"[{'#' * filled}{'.' * (LENGTH - filled)}]"
