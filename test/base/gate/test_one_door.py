"""Nothing in the package touches files but through `base/files.py`, which asks who wants to: by the syntax trees.

What a path alone is (its parts, its suffix, what it resolves to) is no matter of the door. Whether there is such a
file, what is in it and what is beside it are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "src" / "fleet_sim"
DOOR = "base/files.py"
OPENERS = {"to_read", "to_write", "part_of", "part_beside", "opened", "writing", "replacing", "scratch_file", "BytesIO"}
"""What a library may be given in place of a path, or where the path comes from."""
EXCEPTIONS = {
    ("apps/cli/main.py", "os.open"): "the null device, where the reader of the output has gone",
    ("apps/cli/arguments.py", "import shutil"): "asked for the width of the terminal only",
    ("apps/record/recorder.py", "os.memfd_create"): "memory without a name",
    ("base/kernels.py", "open"): "a lock in our own folder for compiled code, whose name nobody gives",
    ("base/parallel.py", "open"): "what the kernel says of a process of ours",
    ("engines/bullet/client.py", "open"): "standard output by its number",
    ("engines/bullet/client.py", ".read_text"): "what the kernel says of sockets",
    ("engines/bullet/client.py", ".loadURDF"): "the floor, a file of PyBullet's own",
    ("engines/bullet/engine.py", ".restoreState"): "a state in memory, or the file that was written just before",
    ("learning/envs/spread.py", ".unlink"): "memory that processes share, no file",
    ("models/meshes/formats.py", ".loadtxt"): "of lines that were read",
    ("ros/main.py", "open"): "what the kernel says of threads of ours",
    ("warehouse/nav2/launching.py", "import tempfile"): "a file for the nodes of Nav2, which read it later",
    ("warehouse/nav2/launching.py", "tempfile.NamedTemporaryFile"): "the same",
}
"""By module and call: why it is none of the door's."""

# Whatever of os is not here is of files, or has not been looked at.
OS = re.compile(
    "PathLike|fs(path|encode|decode)|getp?pid|kill|killpg|environ|pathsep|sep|linesep|name|uname|strerror|close|devnull"
    "|dup2?|fdopen|fstat|cpu_count|sysconf|nice|getcwd|register_at_fork|_exit|path|stat_result|O_WRONLY"
    "|pipe|read|write|set_blocking"
)
OS_PATH = re.compile("abspath|join|split|splitext|basename|dirname|expanduser|realpath|normpath|isabs|commonpath|sep")
MODULES = {"tempfile", "shutil", "glob", "fileinput", "linecache", "dbm", "shelve", "sqlite3"}
OF_PATHS = re.compile(
    "(read|write)_(text|bytes)|is_(file|dir|symlink|mount|fifo|socket)|iterdir|r?glob|l?stat|l?chmod|mkdir|rmdir|unlink"
    "|(symlink|hardlink)_to|readlink|samefile|owner"
)
PLACES = {
    **dict.fromkeys(("savefig", "loadURDF", "loadSDF", "loadMJCF", "loadTexture", "saveBullet", "restoreState"), 0),
    **dict.fromkeys(("read_table", "ParquetWriter", "write_frames", "imread", "imwrite", "loadtxt", "savetxt"), 0),
    **dict.fromkeys(("from_xml_path", "from_file", "ZipFile", "TarFile", "memmap", "fromfile", "tofile"), 0),
    **dict.fromkeys(("genfromtxt", "savez", "savez_compressed", "FileIO", "open_code", "get_writer", "get_reader"), 0),
}
"""Functions of libraries that open a file for themselves, with the place of its path among their arguments."""
MODE = re.compile(r"[rwxabt+]{1,4}")


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the call for what of `text` touches files past the door."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, f"import {one.name}") for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in (*MODULES, "os", "os.path", "io"):
            yield from (
                (node.lineno, f"import {node.module}")
                for one in node.names
                if not (node.module == "io" and one.name in ("BytesIO", "StringIO"))
            )
        elif isinstance(node, ast.Attribute):
            whole = ast.unparse(node)
            module, _, name = whole.rpartition(".")
            if (module == "os" and not OS.fullmatch(name)) or (module == "os.path" and not OS_PATH.fullmatch(name)):
                yield node.lineno, whole
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "fileName" and not _is_of_the_door(value, set()):
                    yield node.lineno, "fileName"
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            given = _given(scope)
            for node in _own_nodes(scope):
                if isinstance(node, ast.Call) and (name := _fault_of(node, given)):
                    yield node.lineno, name


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a function, without the functions in it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
            yield from _own_nodes(node)


def _given(scope: ast.AST) -> set[str]:
    """Return the names that stand for what the door has opened, in a function."""
    names: set[str] = set()
    for node in _own_nodes(scope):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.With):
            pairs = [(item.optional_vars, item.context_expr) for item in node.items if item.optional_vars is not None]
        elif isinstance(node, ast.Assign):
            pairs = [(node.targets[0], node.value)]
        names |= {ast.unparse(target) for target, value in pairs if _is_of_the_door(value, names)}
    return names


def _is_of_the_door(value: ast.expr, given: set[str]) -> bool:
    calls = (node.func for node in ast.walk(value) if isinstance(node, ast.Call))
    return ast.unparse(value) in given or any(ast.unparse(call).rpartition(".")[2] in OPENERS for call in calls)


def _fault_of(call: ast.Call, given: set[str]) -> str:
    """Return the name of a call that touches a file past the door, else ""."""
    keywords = {one.arg for one in call.keywords}
    if isinstance(call.func, ast.Name):
        return "open" if call.func.id == "open" else ""
    if not isinstance(call.func, ast.Attribute):
        return ""
    whole, name, arguments = ast.unparse(call.func), call.func.attr, call.args
    first = arguments[0] if arguments else None
    if whole in ("np.load", "np.save", "io.open"):
        return whole if first is None or not _is_of_the_door(first, given) else ""
    if name == "open" and "image" in whole.lower():
        return f".{name}" if first is None or not _is_of_the_door(first, given) else ""
    if name == "write_table" and whole.startswith(("parquet.", "pq.")):
        return f".{name}" if not _is_of_the_door(arguments[1], given) else ""
    if name in PLACES:
        return f".{name}" if first is None or not _is_of_the_door(first, given) else ""
    if OF_PATHS.fullmatch(name) and whole != f"files.{name}":
        return f".{name}"
    # Of paths, where they are called as those of paths are: others have such names too.
    is_mode = isinstance(first, ast.Constant) and isinstance(first.value, str) and MODE.fullmatch(first.value)
    if name == "open" and (first is None or is_mode or keywords & {"mode", "encoding", "newline"}):
        return f".{name}"
    if name in ("exists", "touch") and first is None:
        return f".{name}"
    if name in ("rename", "replace") and len(arguments) == 1 and not keywords:
        return f".{name}"
    return whole if whole.startswith("tempfile.") else ""


@cache
def found() -> dict[tuple[str, str], list[int]]:
    """Return the lines of all faults of the package by module and call."""
    lines: dict[tuple[str, str], list[int]] = {}
    for module in sorted(PACKAGE.rglob("*.py")):
        path = module.relative_to(PACKAGE).as_posix()
        for line, call in faults(module.read_text(encoding="utf-8")) if path != DOOR else ():
            lines.setdefault((path, call), []).append(line)
    return lines


def test_all_files_are_opened_listed_and_asked_for_through_one_door() -> None:
    assert {call: lines for call, lines in found().items() if call not in EXCEPTIONS} == {}


def test_exceptions_are_few_and_needed() -> None:
    assert EXCEPTIONS.keys() <= found().keys()
    assert len(EXCEPTIONS) <= 20


@pytest.mark.parametrize(
    "text",
    [
        *("open(path)", "path.open()", "path.open('rb')", "path.open(encoding='utf-8')", "Path('x').read_text()"),
        *("path.exists()", "a.b.is_file()", "folder.glob('*')", "path.stat().st_size", "path.replace(other)"),
        *("os.listdir('.')", "os.path.exists(x)", "map(os.remove, x)", "from os import stat", "import shutil"),
        *("np.load(path)", "Image.open(path)", "figure.savefig(part)", "client.loadURDF(path)", "io.open(path)"),
        *("parquet.write_table(table, path)", "parquet.read_table(path)", "x = {'fileName': path}", "path.touch()"),
        "def f():\n    with opened(x) as file:\n        pass\ndef g(file):\n    np.load(file)",
    ],
)
def test_ways_past_the_door_are_seen(text: str) -> None:
    assert list(faults(text))


@pytest.mark.parametrize(
    "text",
    [
        *("opened(path)", "text.replace('a', 'b')", "replace(x, a=1)", "world.touch(rows)", "archive.open(name, 'w')"),
        *("bodies.exists(body)", "desk.open(orders)", "path.resolve()", "os.environ['x']", "files.read_text(path)"),
        *("Image.open(io.BytesIO(data))", "client.loadURDF(str(to_read(path)))", "x = {'fileName': str(to_read(p))}"),
        "with writing(path, 'wb') as file:\n    parquet.write_table(table, file)",
    ],
)
def test_other_calls_are_left_alone(text: str) -> None:
    assert list(faults(text)) == []
