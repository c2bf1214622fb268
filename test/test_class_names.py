"""One name, one class: a reader who meets a name anywhere in the package knows which class it is."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import fleet_sim

PACKAGE = Path(fleet_sim.__file__).parent

# Names that two classes keep, each with the reason.
SHARED: dict[str, str] = {
    "Sensor": "both are public: fleet_sim.Sensor is one on a robot, fleet_sim.swarm.Sensor a base class of swarms",
}


def homes() -> dict[str, list[str]]:
    """Return the files with a top-level class of each name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    return found


def test_no_two_classes_share_a_name() -> None:
    shared = {name: files for name, files in homes().items() if len(files) > 1 and name not in SHARED}
    assert not shared, f"give all but one of each another name: {shared}"


def test_what_is_exempt_is_still_shared() -> None:
    assert [name for name in SHARED if len(homes()[name]) < 2] == []
