"""The two tables, in Markdown, and what is in them as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from names import NameCount
from running import FileResult


def suite_table(results: Mapping[str, list[FileResult]]) -> str:
    """A line for each suite."""
    lines = [
        "| suite | files | passed | failed | skipped | files not collectable |",
        "|---|---|---|---|---|---|",
    ]
    for name, files in results.items():
        counts = (
            len(files),
            sum(file.passed for file in files),
            sum(file.failed for file in files),
            sum(file.skipped for file in files),
            sum(bool(file.not_collectable) for file in files),
        )
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def name_table(counts: Mapping[str, NameCount]) -> str:
    """A line for each package."""
    lines = ["| package | public names | refused | missing | here |", "|---|---|---|---|---|"]
    for package, count in counts.items():
        refused, missing = len(count.refused), len(count.missing)
        lines.append(f"| {package} | {count.public} | {refused} | {missing} | {100 * count.share:.1f} % |")
    return "\n".join(lines)


def as_json(results: Mapping[str, list[FileResult]], counts: Mapping[str, NameCount]) -> dict[str, object]:
    """Everything, with what each failure says."""
    return {
        "suites": {name: [file.as_json() for file in files] for name, files in results.items()},
        "names": {package: count._asdict() for package, count in counts.items()},
    }
