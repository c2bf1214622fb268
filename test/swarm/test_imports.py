"""The modules of swarms import each other one way: there is an order in which each can be read after what it uses."""

from __future__ import annotations

import ast
from pathlib import Path

import fleet_sim

ROOT = Path(fleet_sim.__file__).parent
PACKAGE = ROOT / "swarm"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(module: str) -> set[str]:
    """Return the modules of swarms that `module` imports at any depth, for types as well."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # A name is a module of the package it is imported from, or something in that package.
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else str(node.module) for name in whole]
        else:
            continue
        found.update(name for name in names if name in MODULES)
    return found - {module}


def test_imports_make_no_circle() -> None:
    left = {module: imports_of(module) for module in MODULES}
    while left:
        free = {module for module, used in left.items() if not used & left.keys()}
        tied = sorted(module for module in left if any(module in used for used in left.values()))
        assert free, f"these import each other in a circle, or are imported in one: {tied}"
        left = {module: used for module, used in left.items() if module not in free}
