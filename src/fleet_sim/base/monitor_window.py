"""The monitor's window: a program that reads one JSON object per line and shows it, until its input ends.

It is run as a file, so it imports nothing from the package. It is also imported for its path, so it loads tkinter,
which may be missing, only when it runs.
"""

from __future__ import annotations

import json
import sys
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import tkinter

POLL = 100
"""Milliseconds between two polls of the input."""


class MonitorWindow:
    """Names in one column, values in the other."""

    def __init__(self, title: str, geometry: str, source: TextIO) -> None:
        import tkinter

        self._root = tkinter.Tk()
        self._new_label = tkinter.Label
        self._root.title(title)
        self._root.geometry(geometry)
        self._root.columnconfigure(1, weight=1)
        self._root.option_add("*Font", "TkDefaultFont 9")
        self._root.option_add("*Label.padY", 0)
        self._values: dict[str, tkinter.Label] = {}
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        # Reading blocks, so it is done in a thread; tkinter must stay in the main thread.
        Thread(target=self._read, args=(source,), daemon=True).start()

    def run(self) -> None:
        """Show the window until it is closed or the input ends."""
        self._root.after(POLL, self._update)
        self._root.mainloop()

    def _read(self, source: TextIO) -> None:
        for line in source:
            self._lines.put(line)
        self._lines.put(None)

    def _update(self) -> None:
        """Show the newest figures that have come, and look again after POLL; the end of the input closes the window."""
        # Several lines may have come since; only the newest is worth drawing.
        newest = None
        try:
            while True:
                line = self._lines.get_nowait()
                if line is None:
                    self._root.destroy()
                    return
                newest = line
        except Empty:
            pass
        if newest is not None:
            self._show(json.loads(newest))
        self._root.after(POLL, self._update)

    def _show(self, data: dict[str, str]) -> None:
        """Write figures beside their names; a name that is new gets a line of its own."""
        for name, value in data.items():
            label = self._values.get(name)
            if label is None:
                row = len(self._values)
                self._new_label(self._root, text=name, anchor="w").grid(row=row, column=0, sticky="w", padx=6)
                label = self._values[name] = self._new_label(self._root, anchor="e")
                label.grid(row=row, column=1, sticky="e", padx=6)
            label["text"] = value


def main() -> None:
    """Open the window: arguments are its title and geometry."""
    MonitorWindow(sys.argv[1], sys.argv[2], sys.stdin).run()


if __name__ == "__main__":
    main()
