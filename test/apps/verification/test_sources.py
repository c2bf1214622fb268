"""What a run depends on is computed with functions whose bits are the same on every machine."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "src" / "fleet_sim"

# Their last bits depend on the processor, on the version of NumPy, Python or the C library.
VARYING = {
    *(
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "power",
        "pow",
    ),
    *("arcsin", "arccos", "arctan", "arctan2", "asin", "acos", "atan", "atan2", "hypot", "dist", "cbrt", "gamma"),
}
# Files that may use them, by the beginning of their paths, each with the reason.
EXEMPT = {
    "facade/view.py": "places a camera that draws",
    "apps/reports/": "draws",
    "sensing/sensors/lidar.py": "draws",
    "sensing/sensors/render/": "draws: pictures are not verified",
    "engines/bullet/window.py": "places a camera that draws",
    "apps/record/film.py": "places a camera that draws",
    "apps/viewer/": "draws, and answers clicks: what they ask for is recorded as a command",
    "engines/bullet/engine.py": "counts turns: only the whole number matters",
    "base/spatial/triangles.py": "counts levels: only the whole number matters",
    "warehouse/sites/pictures.py": "outlines that are drawn",
    "learning/manipulation/": "places a camera; environments are not verified",
    "swarm/simulate.py": "answers a click",
    "learning/envs/": "rewards and observations: environments are not verified",
    "base/settings/expressions.py": "formulas that users write in YAML; they may use any function",
    "swarm/controllers/walks.py": "its steps are drawn from a power law, which has no other form",
    "sensing/sensors/occupancy.py": "compares with a tolerance",
    "warehouse/nav2/maps.py": "pictures for others: no robot here drives by costs",
    "base/tools.py": "compares with a tolerance",
    "apps/sweeps/settings.py": "values drawn from a distribution become part of the table",
}


NAMED = re.compile(rf"\b(?:np|math)\.(?:{'|'.join(sorted(VARYING))})\b")


@cache
def uses(path: Path) -> list[tuple[str, int]]:
    text = path.read_text(encoding="utf-8")
    # Most files are not worth parsing: a name that is nowhere in the text is nowhere in the tree.
    nodes = ast.walk(ast.parse(text)) if NAMED.search(text) else ()
    return [
        (ast.unparse(node), node.lineno)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in VARYING and ast.unparse(node.value) in ("np", "math")
    ]


FILES = sorted(PACKAGE.rglob("*.py"))


def test_no_function_with_varying_bits_is_used() -> None:
    varying = [
        f"{path.relative_to(PACKAGE)}:{line}: {what}"
        for path in FILES
        if not path.relative_to(PACKAGE).as_posix().startswith(tuple(EXEMPT))
        for what, line in uses(path)
    ]
    assert varying == [], "take them from fleet_sim.base.spatial.trigonometry"


def test_exemptions_are_needed() -> None:
    for start in EXEMPT:
        files = [path for path in FILES if path.relative_to(PACKAGE).as_posix().startswith(start)]
        assert any(list(uses(path)) for path in files), f"{start} needs no exemption"
