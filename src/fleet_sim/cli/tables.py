"""Tables on standard output: lines of text, or drawn by rich where there is a terminal and rich."""

from __future__ import annotations

import sys
from types import TracebackType


class TextTable:
    """Prints rows under `headings`, right-aligned in columns of `widths` characters.

    Each row is printed as soon as it is known, as a run may be long; on a terminal with rich (extra `terminal`) all
    are drawn as one table at the end of the `with` block.
    """

    def __init__(self, headings: dict[str, int]) -> None:
        self._widths = headings
        self._rich = rich_is_there()
        self._rows: list[list[str]] = []
        self._begun = False

    def row(self, values: list[str]) -> None:
        """Add a row."""
        if self._rich:
            self._rows.append(values)
            return
        if not self._begun:
            self._begun = True
            self._print(list(self._widths))
        self._print(values)

    def _print(self, texts: list[str]) -> None:
        print("  ".join(f"{text:>{w}}" for text, w in zip(texts, self._widths.values(), strict=True)), flush=True)

    def __enter__(self) -> TextTable:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Print the rows that were given so far as a table, also where the block was left by an error."""
        # Also after Ctrl-C and errors: what was measured before is still true.
        if self._rows:
            from rich import box
            from rich.console import Console
            from rich.table import Table

            table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
            for heading in self._widths:
                table.add_column(heading, justify="right")
            for row in self._rows:
                table.add_row(*row)
            Console().print(table)


def rich_is_there() -> bool:
    """Return whether standard output is a terminal for which rich can draw."""
    if not sys.stdout.isatty():
        return False
    try:
        import rich.table  # noqa: F401  # it is only asked for
    except ImportError:
        return False
    return True
