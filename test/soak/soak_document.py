"""Puts the figures of a soak into the documents: `python test/soak/soak_document.py soak/soak.csv`

The table goes between the marks in bench/README.md, the plot to docs/images/soak.png.
"""

from __future__ import annotations

import sys
from pathlib import Path

from soak_figures import read_rows
from soak_verdict import plot, table_of, verdicts

ROOT = Path(__file__).parents[2]
PAGE, PICTURE = Path("bench/README.md"), Path("docs/images/soak.png")
BEGIN, END = "<!-- the last soak -->\n", "<!-- its end -->"


def document(csv_file: Path, root: Path = ROOT) -> str:
    """Write table and plot into the documents under `root`; return the table.

    Raises ValueError without marks to write between, or without figures.
    """
    rows = list(read_rows(csv_file.read_text().splitlines()))
    if not rows:
        raise ValueError(f"{csv_file} has no figures")
    judged = verdicts(rows)
    minutes = round(max(row.seconds for row in rows) / 60.0)
    faults = [f"{one.part}: {fault}" for one in judged for fault in one.faults]
    verdict = "; ".join(faults) or "flat, nothing grows"
    text = f"The last one took {minutes} minutes. Its verdict: {verdict}.\n\n{table_of(judged)}\n\n"
    text += f"![Memory, files, threads and processor time per step over {minutes} minutes](../docs/images/soak.png)\n"
    page = root / PAGE
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {BEGIN.strip()!r} and {END!r} to write between")
    page.write_text(f"{before}{BEGIN}{text}{END}{after}", encoding="utf-8")
    plot(rows, root / PICTURE)
    return text


if __name__ == "__main__":
    print(document(Path(sys.argv[1])))
