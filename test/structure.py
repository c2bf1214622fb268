"""Print how large the package is and how it hangs together: `make structure`.

Code lines are lines with tokens, without comments and docstrings. Floors are counted between rooms, which are the
folders directly in the package, and between modules: one more than the highest floor of what is imported. A small
module has fewer than 60 lines.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMALL = 60
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of(nodes: Iterator[ast.AST]) -> set[int]:
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}  # type: ignore[attr-defined]


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def code_lines(path: Path) -> set[int]:
    """The numbers of the lines that have code."""
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in LAYOUT]
    used = {line for token in tokens[1:] for line in range(token.start[0], token.end[0] + 1)}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return used - lines_of(node for node in ast.walk(tree) if is_docstring(node))


def main() -> int:
    """Print one line for each part of the package, and the sums."""
    sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test/support")]
    from test_architecture import MODULES, PACKAGE, import_graph, name_of, room_of

    graph = import_graph()
    files = {name_of(path): path for path in MODULES}
    importers: dict[str, set[str]] = {name: set() for name in files}
    for name, found in graph.items():
        for other in found:
            importers[other].add(name)

    @cache
    def floor(name: str) -> int:
        return 1 + max((floor(other) for other in graph[name]), default=0)

    # The modules beside the rooms are none.
    room = {name: room_of(path) for name, path in files.items() if path.parent != PACKAGE}
    below: dict[str, set[str]] = {name: set() for name in room.values()}
    for name in room:
        below[room[name]] |= {room[other] for other in graph[name] if other in room} - {room[name]}

    @cache
    def chain(name: str) -> tuple[str, ...]:
        return (*max(map(chain, below[name]), key=len, default=()), name)

    sums = {"files": 0, "code": 0, "imports": 0, "classes": 0}
    rooms: dict[str, list[int]] = {}
    for path in MODULES:
        tree, code = ast.parse(path.read_text(encoding="utf-8")), code_lines(path)
        imports = code & lines_of(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
        counts = rooms.setdefault(room_of(path), [0, 0])
        counts[0] += 1
        counts[1] += len(code)
        sums["files"] += 1
        sums["code"] += len(code)
        sums["imports"] += len(imports)
        sums["classes"] += sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
    for name, (count, code_count) in sorted(rooms.items(), key=lambda item: -item[1][1]):
        print(f"{name:12s} {count:4d} files {code_count:7d} code lines")
    small = [
        name
        for name, path in files.items()
        if len(path.read_text(encoding="utf-8").splitlines()) < SMALL
        and len(importers[name]) == 1
        and path.name != "__init__.py"
    ]
    folders = len({path.parent for path in MODULES} - {PACKAGE})
    print(f"{sums['files']} files in {folders} folders, {sums['code']} code lines, {sums['classes']} classes")
    print(f"{100 * sums['imports'] / sums['code']:.1f} of 100 code lines are imports")
    longest = max(map(chain, below), key=len)
    print(f"{len(longest)} floors of rooms, the longest chain of rooms that import: {' < '.join(longest)}")
    print(f"{max(map(floor, graph))} floors of modules, the longest chain of modules that import")
    print(f"{len(small)} small modules with one importer: {', '.join(sorted(small))}")
    tests = list((ROOT / "test").rglob("*.py"))
    print(f"{len(tests)} files of tests, {sum(len(code_lines(path)) for path in tests)} code lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
