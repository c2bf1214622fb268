"""Files and functions stay small enough to read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE_LINES = 500
FUNCTION_LINES = 80
# Path, or path::function, to the reason why it may be longer.
EXEMPT: dict[str, str] = {}

FILES = sorted(
    path
    for folder in ("src", "test", "bench", "examples", "launch")
    for path in ROOT.joinpath(folder).rglob("*.py")
    if not {"build", "install", "results"} & set(path.relative_to(ROOT).parts)
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    name, text = name_of(path), path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= FILE_LINES or name in EXEMPT, f"{name} has {lines} lines; split it ({FILE_LINES} at most)"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            long = (node.end_lineno or node.lineno) - node.lineno + 1
            place = f"{name}::{node.name}"
            assert long <= FUNCTION_LINES or place in EXEMPT, (
                f"{place} has {long} lines; split it ({FUNCTION_LINES} at most)"
            )


def test_exemptions_are_needed_and_explained() -> None:
    for place, reason in EXEMPT.items():
        assert (ROOT / place.split("::")[0]).is_file(), f"{place} is gone; remove its exemption"
        assert reason
