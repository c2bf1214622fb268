"""The figures of runs as lines of text, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.reports.figures import rows_of
from fleet_sim.reports.scales import number
from fleet_sim.traffic.figures import Run


def lines_of(runs: Sequence[Run]) -> list[str]:
    """Return the figures of the runs as the lines of a table, under their headings."""
    lines = []
    for heading, rows in rows_of(runs).items():
        lines.append(heading)
        for figure, values in rows:
            texts = "".join(f"{number(value, figure.digits):>16}" for value in values)
            lines.append(f"  {figure.name:<32}{texts} {figure.unit}".rstrip())
    return lines
