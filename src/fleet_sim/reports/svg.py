"""Plots as SVG: a frame with axes, and shapes in it. Colors are CSS variables, so that they fit light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.reports.scales import Scale


class Plot:
    """A plot of `width` x `height` units with round numbers along its axes; what is drawn later is on top."""

    def __init__(self, x: Scale, y: Scale, *, width: int = 540, height: int = 250, label: str = "") -> None:
        self.x, self.y = x, y
        self.width, self.height = width, height
        self.left, self.right = 52.0, width - 12.0
        self.top, self.bottom = 12.0, height - 30.0
        self._label = label
        self._parts: list[str] = []
        self._tips: list[tuple[float, list[str]]] = []

    def axes(self, x_texts: Sequence[str], y_texts: Sequence[str]) -> None:
        """Draw the lines of the values, and write `x_texts` and `y_texts` at the round numbers."""
        for value, text in zip(self.y.ticks, y_texts, strict=True):
            y = self._y(value)
            kind = "axis" if value == self.y.low else "grid"
            self._parts.append(f'<line class="{kind}" x1="{self.left}" x2="{self.right}" y1="{y}" y2="{y}"/>')
            self._parts.append(f'<text x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
        for value, text in zip(self.x.ticks, x_texts, strict=True):
            x = self._x(value)
            # The last one would be cut off by the edge.
            anchor = "end" if x > self.right - 14 else "middle"
            self._parts.append(f'<text x="{x}" y="{self.bottom + 19}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, xs: Floats, ys: Floats, color: str) -> None:
        """Draw a line through the points."""
        points = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        self._parts.append(f'<polyline class="line" style="stroke:{color}" points="{points}"/>')

    def bar(self, x: float, middle: float, low: float, high: float, color: str) -> None:
        """Draw a point, and a bar from `low` to `high` through it."""
        place = self._x(x)
        self._parts.append(
            f'<line style="stroke:{color}" x1="{place}" x2="{place}" y1="{self._y(low)}" y2="{self._y(high)}"/>'
            f'<circle style="fill:{color}" cx="{place}" cy="{self._y(middle)}" r="3.5"/>'
        )

    def area(self, xs: Floats, lows: Floats, highs: Floats, color: str) -> None:
        """Fill between two lines in steps: `xs` (B + 1,) are the ends of the stretches, `lows` and `highs` (B,)."""
        # Each end twice, for lines at right angles.
        across = np.repeat(xs, 2)[1:-1]
        upper = zip(across.tolist(), np.repeat(highs, 2).tolist(), strict=True)
        lower = zip(across[::-1].tolist(), np.repeat(lows, 2)[::-1].tolist(), strict=True)
        points = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in (*upper, *lower))
        self._parts.append(f'<polygon class="area" style="fill:{color}" points="{points}"/>')

    def tip(self, x: float, lines: Iterable[str]) -> None:
        """Show `lines` where the mouse is near the value `x`."""
        self._tips.append((self._x(x), list(lines)))

    def text(self) -> str:
        """Return the SVG element."""
        tips = escape(json.dumps(self._tips)) if self._tips else ""
        frame = f"{self.left},{self.top},{self.right},{self.bottom}"
        return (
            f'<svg class="plot" viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self._label)}"'
            f' data-frame="{frame}" data-tips="{tips}">{"".join(self._parts)}'
            f'<line class="cross" y1="{self.top}" y2="{self.bottom}" x1="0" x2="0" visibility="hidden"/></svg>'
        )

    def _x(self, value: float) -> float:
        # A tenth of a unit cannot be seen, and keeps pages with thousands of points small.
        return round(self.x.place(value, self.left, self.right), 1)

    def _y(self, value: float) -> float:
        return round(self.y.place(value, self.bottom, self.top), 1)


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return the names with their colors; both are (name, CSS color)."""
    items = "".join(f'<li><i style="background:{color}"></i>{escape(name)}</li>' for name, color in entries)
    return f'<ul class="legend">{items}</ul>'
