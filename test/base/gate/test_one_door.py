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
DOOR, DOOR_MODULE = "base/files.py", "fleet_sim.base.files"
OPENERS = {"to_read", "to_write", "part_of", "part_beside", "opened", "writing", "replacing", "scratch_file", "BytesIO"}
"""What a library may be given in place of a path, or where the path comes from."""
EXCEPTIONS = {
    ("apps/certify.py", "open"): "the operator's own files, read by a program that imports nothing of the package",
    ("apps/cli/main.py", "os.open"): "the null device, where the reader of the output has gone",
    ("apps/cli/arguments.py", "import shutil"): "asked for the width of the terminal only",
    ("apps/record/recorder.py", "os.memfd_create"): "memory without a name",
    ("base/kernels.py", "open"): "a lock in our own folder for compiled code, whose name nobody gives",
    ("base/parallel.py", "open"): "what the kernel says of a process of ours",
    ("engines/bullet/client.py", "open"): "standard output by its number",
    ("engines/bullet/client.py", ".read_text"): "what the kernel says of sockets",
    ("engines/bullet/client.py", ".loadURDF"): "the floor, a file of PyBullet's own",
    ("engines/bullet/engine.py", ".restoreState"): "a state in memory, or the file that was written just before",
    ("apps/lab/managers.py", "import importlib.util.module_from_spec"): "the operator's own manager, like a plugin",
    ("apps/lab/managers.py", "import importlib.util.spec_from_file_location"): "the same",
    ("apps/lab/process.py", "subprocess.Popen"): "the operator's own manager and a broker for it",
    ("models/meshes/formats.py", ".loadtxt"): "of lines that were read",
    ("sensing/sensors/render/shot.py", "subprocess.Popen"): "ffmpeg, which is given a file that the door named",
    ("warehouse/traffic/planners/registry.py", "subprocess.Popen"): "the operator's own planner; refused from outside",
    ("ros/main.py", "open"): "what the kernel says of threads of ours",
}
"""By module and call: why it is none of the door's."""

# Modules that are imported and touch no file that they are not given open. What is in neither list, nobody looked at.
HARMLESS = re.compile(
    "__future__|abc|argparse|array|ast|asyncio|atexit|base64|bisect|calendar|collections|concurrent|contextlib|contextvars|copy"
    "|csv|dataclasses|datetime|difflib|enum|errno|faulthandler|fcntl|fnmatch|fractions|functools|gc|hashlib|heapq|hmac|html"
    "|http|inspect|itertools|json|math|numbers|operator|pickle|platform|queue|random|re|resource|secrets|select|selectors|signal|shlex"
    "|socket|stat|statistics|struct|sys|textwrap|threading|time|traceback|types|typing|typing_extensions|urllib|warnings"
    "|weakref|webbrowser|zlib|multiprocessing|numba|fleet_sim|fleet_sim_msgs|[a-z0-9_]+_msgs|builtin_interfaces"
    "|std_srvs|simulation_interfaces|rcl_interfaces|rclpy|rosidl_runtime_py|launch|launch_ros|ament_index_python"
    "|amqtt|argcomplete|cma|gymnasium|pettingzoo|stable_baselines3|ray|mcap|moderngl|msgspec|paho|pybullet|pybullet_data"
    "|mujoco|rich|rosbags|scipy|tkinter|viser|websockets|yaml|zstandard"
)
LOOKED_AT = {
    "os": "PathLike|fs(path|encode|decode)|getp?pid|kill|killpg|environ|pathsep|sep|linesep|name|uname|strerror|close"
    "|devnull|dup2?|fdopen|fstat|cpu_count|sysconf|nice|getcwd|register_at_fork|_exit|path|stat_result|O_WRONLY"
    "|pipe|read|write|set_blocking",
    "os.path": "abspath|join|split|splitext|basename|dirname|expanduser|realpath|normpath|isabs|commonpath|sep",
    "pathlib": "Path",
    "pathlib.Path": "cwd|home",
    "io": "BytesIO|StringIO|TextIOWrapper|TextIOBase|SEEK_[A-Z]+|UnsupportedOperation",
    "ezdxf.enums": "InsertUnits",
    "ezdxf.filemanagement": "read",
    "ezdxf.lldxf.const": "DXFError",
    "ezdxf.path": "make_path",
    "ezdxf.units": "conversion_factor",
    "gzip": "compress|decompress",
    "zipfile": "ZipFile|ZipInfo|BadZipFile|LargeZipFile|ZIP_[A-Z]+",
    "mmap": "mmap|MAP_[A-Z]+",
    "ctypes": "CDLL|POINTER|Structure|byref|cast|pointer|py_object|pythonapi|c_[a-z_0-9]+",
    "logging": "(?!.*Handler$|config|handlers).*",
    "importlib": "import_module|metadata|util|reload",
    "importlib.metadata": ".*",
    "importlib.util": "find_spec",
    "subprocess": "Popen|run|PIPE|DEVNULL|TimeoutExpired|CalledProcessError|SubprocessError",
    "xml.etree.ElementTree": "Element|SubElement|tostring|fromstring|ParseError",
    "xml.parsers.expat": "ParserCreate|ExpatError|errors|XMLParserType",
    "xml.sax.saxutils": "quoteattr|escape|unescape",
    "numpy": "(?!(fromregex|DataSource)$).*",
    "numpy.lib": "format|stride_tricks",
    "numpy.lib.format": "(?!open_memmap).*",
    "PIL": "Image|ImageDraw",
    "PIL.Image": ".*",
    "PIL.ImageDraw": ".*",
    "pyarrow": "(?!memory_map|OSFile|create_memory_map|fs|csv|dataset|feather|orc|ipc|input_stream|output_stream).*",
    "pyarrow.parquet": "ParquetWriter|read_table|write_table",
    "matplotlib": "figure|pyplot",
    "matplotlib.figure": "Figure",
    "matplotlib.pyplot": "(?!imread|imsave).*",
    "imageio_ffmpeg": "get_ffmpeg_exe",
}
"""What of modules that also open files by themselves does not, or has a check of its own below."""
OF_PATHS = re.compile(
    "(read|write)_(text|bytes)|is_(file|dir|symlink|mount|fifo|socket)|iterdir|r?glob|l?stat|l?chmod|mkdir|rmdir|unlink"
    "|(symlink|hardlink)_to|readlink|samefile|owner"
)
PLACES = {
    **dict.fromkeys(("savefig", "loadURDF", "loadSDF", "loadMJCF", "loadTexture", "saveBullet", "restoreState"), 0),
    **dict.fromkeys(("read_table", "ParquetWriter", "write_frames", "imread", "imwrite", "loadtxt", "savetxt"), 0),
    **dict.fromkeys(("from_xml_path", "from_file", "ZipFile", "TarFile", "memmap", "fromfile", "tofile"), 0),
    **dict.fromkeys(("genfromtxt", "savez", "savez_compressed", "FileIO", "open_code", "get_writer", "get_reader"), 0),
    **dict.fromkeys(("load_cert_chain", "load_verify_locations"), 0),
    "write_table": 1,
}
"""Functions of libraries that open a file for themselves, with the place of its path among their arguments."""
KEYWORDS = {"fileName", "ca_certs", "certfile", "keyfile"}
"""Settings of libraries that are paths."""
NEVER = {"open", "__import__", "exec", "eval", "compile"}
"""Names that are not to be used, not even to call them elsewhere."""
MODE = re.compile(r"[rwxabt+]{1,4}")


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the call for what of `text` touches files past the door."""
    tree = ast.parse(text)
    origins = _origins(tree)
    owned = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    owned |= {id(node.args[0]) for node in ast.walk(tree) if _asked(node)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((node.lineno, f"import {name}") for name in _imported(node) if not _is_looked_at(name))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in NEVER:
                yield node.lineno, node.id
            elif origins.get(node.id) in LOOKED_AT and origins[node.id] != "pathlib.Path" and id(node) not in owned:
                # What is asked of the module then is not seen.
                yield node.lineno, f"{node.id} as a value"
        elif isinstance(node, ast.Attribute) or _asked(node):
            whole = _whole(node, origins)
            module, _, name = whole.rpartition(".")
            if module in LOOKED_AT and not _is_looked_at(whole):
                yield node.lineno, whole
            elif OF_PATHS.fullmatch(name) and name != "owner" and id(node) not in called and module != DOOR_MODULE:
                yield node.lineno, f".{name}"
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in KEYWORDS and not _is_of_the_door(value, set()):
                    yield node.lineno, str(key.value)
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            given = _given(scope)
            for node in _own_nodes(scope):
                if isinstance(node, ast.Call) and (name := _fault_of(node, given, origins)):
                    yield node.lineno, name


def _origins(tree: ast.AST) -> dict[str, str]:
    """Return what the names in a module stand for that it imports."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                origins[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            origins.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
    return origins


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    return [f"{node.module}.{one.name}" for one in node.names]


def _is_looked_at(name: str) -> bool:
    """Return whether a module, or something of it, is none that opens files by itself."""
    module, _, last = name.rpartition(".")
    if name in LOOKED_AT or HARMLESS.fullmatch(name.partition(".")[0]):
        return True
    return module in LOOKED_AT and re.fullmatch(LOOKED_AT[module], last) is not None


def _asked(node: ast.AST) -> str:
    """Return the attribute that `getattr` or `hasattr` is called for, where it is said, else ""."""
    is_question = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
    )
    if is_question and len(node.args) > 1 and isinstance(name := node.args[1], ast.Constant):
        return str(name.value)
    return ""


def _whole(node: ast.AST, origins: dict[str, str]) -> str:
    """Return an expression with dots as text, its first name replaced by what it stands for."""
    if isinstance(node, ast.Call) and _asked(node):
        return f"{_whole(node.args[0], origins)}.{_asked(node)}"
    if isinstance(node, ast.Attribute):
        return f"{_whole(node.value, origins)}.{node.attr}"
    return origins.get(node.id, node.id) if isinstance(node, ast.Name) else "()"


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


def _fault_of(call: ast.Call, given: set[str], origins: dict[str, str]) -> str:
    """Return the name of a call that touches a file past the door, else ""."""
    arguments = call.args
    whole = _whole(call.func, origins)
    name = whole.rpartition(".")[2]
    first = arguments[0] if arguments else None
    keywords = {one.arg for one in call.keywords}
    if any(one.arg in KEYWORDS and not _is_of_the_door(one.value, given) for one in call.keywords):
        return f".{name}"
    if whole == "logging.basicConfig" and "filename" in keywords:
        return whole
    if whole in ("subprocess.Popen", "subprocess.run"):
        # A program of ours, in Python: its source is in the package, too.
        is_ours = isinstance(first, ast.List) and first.elts and ast.unparse(first.elts[0]) == "sys.executable"
        return "" if is_ours else whole
    if whole in ("numpy.load", "numpy.save", "PIL.Image.open"):
        return whole if first is None or not _is_of_the_door(first, given) else ""
    if whole.startswith("fleet_sim.") or (isinstance(call.func, ast.Name) and call.func.id not in origins):
        # Seen where it is defined.
        return ""
    if name in PLACES and (name != "write_table" or "parquet" in whole):
        path = arguments[PLACES[name]] if len(arguments) > PLACES[name] else None
        return f".{name}" if path is None or not _is_of_the_door(path, given) else ""
    if not isinstance(call.func, ast.Attribute):
        return ""
    if name == "save" and arguments and "image" in whole.lower():
        return f".{name}" if not _is_of_the_door(arguments[0], given) else ""
    if OF_PATHS.fullmatch(name):
        return f".{name}"
    # Of paths, where they are called as those of paths are: others have such names too.
    is_mode = isinstance(first, ast.Constant) and isinstance(first.value, str) and MODE.fullmatch(first.value)
    if name == "open" and (first is None or is_mode or keywords & {"mode", "encoding", "newline"}):
        return f".{name}"
    if name in ("exists", "touch") and first is None:
        return f".{name}"
    if name in ("rename", "replace") and len(arguments) + len(keywords) == 1 and keywords <= {"target"}:
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


IMPORTS = """import io, os, subprocess, sys
from pathlib import Path
from xml.etree import ElementTree as ET
import numpy as np
from PIL import Image
from pyarrow import parquet
from fleet_sim.base import files
from fleet_sim.base.files import opened, to_read, writing"""


@pytest.mark.parametrize(
    "text",
    [
        *("open(path)", "path.open()", "path.open('rb')", "path.open(encoding='utf-8')", "Path('x').read_text()"),
        *("path.exists()", "a.b.is_file()", "folder.glob('*')", "path.stat().st_size", "path.replace(other)"),
        *("os.listdir('.')", "os.path.exists(x)", "map(os.remove, x)", "from os import stat", "import shutil"),
        *("np.load(path)", "Image.open(path)", "figure.savefig(part)", "client.loadURDF(path)", "io.open(path)"),
        *("parquet.write_table(table, path)", "parquet.read_table(path)", "x = {'fileName': path}", "path.touch()"),
        *("import os as o\no.stat(x)", "import os.path as p\np.exists(x)", "getattr(os, 'stat')(x)"),
        *("getattr(os, name)(x)", "vars(os)['stat']", "ask(os)", "f = open", "map(open, x)", "map(Path.read_text, x)"),
        *(
            "Path.exists(x)",
            "path.replace(target=x)",
            "from numpy import load\nload(x)",
            "import numpy as n\nn.load(x)",
        ),
        *(
            "import io as i\ni.open(x)",
            "import codecs",
            "import sqlite3",
            "import tarfile",
            "from builtins import open",
        ),
        *(
            "import imageio.v3",
            "import cv2",
            "import pandas as pd",
            "from gzip import open",
            "import gzip\ngzip.open(x)",
        ),
        *(
            "ET.parse(x)",
            "from xml.etree.ElementTree import parse",
            "from xml.dom import minidom",
            "from lxml import etree",
        ),
        *("from zipfile import ZipFile as Z\nZ(x)", "from PIL import Image as I\nI.open(x)", "image.save(x)"),
        *("subprocess.run(['cat', x])", "from subprocess import Popen as P\nP(x)", "subprocess.check_output(x)"),
        *("import logging\nlogging.FileHandler(x)", "import logging\nlogging.basicConfig(filename=x)", "exec(text)"),
        *("import importlib.util as u\nu.spec_from_file_location(x, y)", "__import__('os').stat(x)", "np.DataSource()"),
        *("client.tls_set(ca_certs=x)", "context.load_cert_chain(x)", "import h5py", "import runpy"),
        "from pyarrow import OSFile",
        "def f():\n    with opened(x) as file:\n        pass\ndef g(file):\n    np.load(file)",
    ],
)
def test_ways_past_the_door_are_seen(text: str) -> None:
    assert list(faults(f"{IMPORTS}\n{text}"))


@pytest.mark.parametrize(
    "text",
    [
        *("opened(path)", "text.replace('a', 'b')", "replace(x, a=1)", "world.touch(rows)", "archive.open(name, 'w')"),
        *("bodies.exists(body)", "desk.open(orders)", "path.resolve()", "os.environ['x']", "files.read_text(path)"),
        *("Image.open(io.BytesIO(data))", "client.loadURDF(str(to_read(path)))", "x = {'fileName': str(to_read(p))}"),
        *(
            "subprocess.run([sys.executable, '-c', x])",
            "ET.fromstring(data)",
            "getattr(os, 'nice')(1)",
            "image.save(part_of(x))",
        ),
        "with writing(path, 'wb') as file:\n    parquet.write_table(table, file)",
    ],
)
def test_other_calls_are_left_alone(text: str) -> None:
    assert list(faults(f"{IMPORTS}\n{text}")) == []
