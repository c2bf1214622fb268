"""What a run depends on is computed with functions whose bits are the same on every machine."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "fleet_sim"

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
    "facade/drawing.py": "places a camera that draws",
    "reports/": "draws",
    "sensors/drawing.py": "draws",
    "sensors/render/": "draws: pictures are not verified",
    "bullet/camera_view.py": "places a camera that draws",
    "record/filming.py": "places a camera that draws",
    "viewer/": "draws, and answers clicks: what they ask for is recorded as a command",
    "bullet/saved.py": "counts turns: only the whole number matters",
    "spatial/box_tree.py": "counts levels: only the whole number matters",
    "sites/floor_plan.py": "outlines that are drawn",
    "manipulation/": "places a camera; environments are not verified",
    "swarm/player.py": "answers a click",
    "envs/": "rewards and observations: environments are not verified",
    "settings/expressions.py": "formulas that users write in YAML; they may use any function",
    "swarm/controllers/levy.py": "its steps are drawn from a power law, which has no other form",
    "sensors/occupancy.py": "compares with a tolerance",
    "ros/nav2/costmaps.py": "pictures for others: no robot here drives by costs",
    "tools.py": "compares with a tolerance",
    "sweeps/settings.py": "values drawn from a distribution become part of the table",
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
    assert varying == [], "take them from fleet_sim.spatial.trigonometry"


def test_exemptions_are_needed() -> None:
    for start in EXEMPT:
        files = [path for path in FILES if path.relative_to(PACKAGE).as_posix().startswith(start)]
        assert any(list(uses(path)) for path in files), f"{start} needs no exemption"
