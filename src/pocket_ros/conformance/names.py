"""The public names of upstream's packages, read from their sources, and which of them are here.

Nothing of upstream is imported: its classes would need what pocket_ros is there to replace.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_PROBE = Path(__file__).with_name("probe.py")


class NameCount(NamedTuple):
    """How many public names a package has, and which are refused and which are not there at all."""

    public: int
    refused: list[str]
    missing: list[str]

    @property
    def share(self) -> float:
        """The part of the names that is here, from 0 to 1."""
        return 1.0 if not self.public else 1 - (len(self.refused) + len(self.missing)) / self.public


def public_names(package: str, folder: Path) -> list[str]:
    """Names as `module:name` and `module:Class.member`, of every public module in a folder."""
    found: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if (
            "test" in parts
            or parts[-1] == "conftest"
            or any(part.startswith("_") for part in parts if part != "__init__")
        ):
            continue
        module = ".".join([package, *(part for part in parts if part != "__init__")])
        tree = ast.parse(path.read_text())
        found += [f"{module}:{name}" for name in _names(tree, path.name == "__init__.py")]
    return found


def _names(tree: ast.Module, is_package: bool) -> Iterator[str]:
    listed = _listed(tree)
    seen: set[str] = set()
    for name, members in _statements(tree.body, is_package):
        public = name in listed if listed is not None else not name.startswith("_")
        if public and name not in seen:
            seen.add(name)
            yield name
            yield from (f"{name}.{member}" for member in dict.fromkeys(members))
    yield from sorted((listed or set()) - seen)


def _listed(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_name(target) == "__all__" for target in node.targets):
            return {item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)}
    return None


def _statements(body: Iterable[ast.stmt], is_package: bool) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name, list(_members(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, []
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((name, []) for name in map(_name, targets) if name and not _is_variable(node))
        elif isinstance(node, ast.ImportFrom) and is_package and node.level:
            yield from ((alias.asname or alias.name, []) for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Try):
            yield from _statements(node.body, is_package)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_"):
            yield item.name
        elif isinstance(item, ast.Assign):
            yield from (name for name in map(_name, item.targets) if name and not name.startswith("_"))


def _name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else ""


def _is_variable(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether a type variable or a logger is made, which is nobody's interface."""
    called = node.value.func if isinstance(node.value, ast.Call) else None
    return called is not None and ast.unparse(called).split(".")[-1] in ("TypeVar", "getLogger", "get_logger")


def count_names(
    names: Mapping[str, list[str]], environment: Mapping[str, str], folder: Path
) -> dict[str, NameCount]:
    """What becomes of the names of each package when a new process asks for them."""
    counts = {}
    for package, wanted in names.items():
        answer = subprocess.run(
            [sys.executable, str(_PROBE)],
            input=json.dumps(wanted),
            capture_output=True,
            text=True,
            env=dict(environment),
            cwd=folder,
            check=True,
        )
        outcome: dict[str, str] = json.loads(answer.stdout.splitlines()[-1])
        refused = [name for name, kind in outcome.items() if kind == "refused"]
        missing = [name for name, kind in outcome.items() if kind == "missing"]
        counts[package] = NameCount(len(wanted), refused, missing)
    return counts
