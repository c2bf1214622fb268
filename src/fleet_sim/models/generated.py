"""Files that descriptions refer to or that are made of them: meshes, height fields, expanded xacro files.

They are stored in a cache folder; their names contain a hash of their content, so equal contents share a file and no
file is out of date.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from xml.sax.saxutils import quoteattr

from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import cache_folder, is_file, keep_cached, refusals, status
from fleet_sim.models import xacro_program
from fleet_sim.models.markup import MAX_BYTES, read_bytes
from fleet_sim.models.mesh_files import seen_by_pybullet

XACRO_SUFFIX = ".xacro"
XACRO_TIME = 20.0
"""For the expansion of a file, in s."""
XACRO_MEMORY = 2 << 30
"""For the same, in bytes."""
# Not as a module, which would import this package first; without the folder that the program is started in.
_RUN = "import runpy, sys; sys.path.pop(0); runpy.run_path(sys.argv[1], run_name='__main__')"
_FILE = re.compile(r"""(filename\s*=\s*)("[^"]*"|'[^']*')""")
# Some files without the xacro suffix are xacro too; other xacro elements are leftovers of an expansion.
_XACRO = re.compile(rb"<xacro:(arg|property|macro|include)\b")


def keep(content: bytes, name: str) -> Path:
    """Return a file with `content`; its name is `name` with a hash of the content before the suffix.

    Raises InvalidValueError where it cannot be written; then nothing is left of it.
    """
    stem, suffix = os.path.splitext(name)
    path = cache_folder("models") / f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    with refusals(path):
        keep_cached(path, lambda: content)
    return path


def is_xacro(path: Path) -> bool:
    """Return whether a file is xacro by its ending, in small or in capital letters."""
    return path.suffix.lower() == XACRO_SUFFIX


def content_of(path: Path) -> bytes:
    """Return the XML of a description file, expanded if it is xacro by its suffix or its content.

    Raises InvalidValueError for a file that cannot be read, and as `expand_xacro` does.
    """
    content = read_bytes(path)
    return expand_xacro(path) if is_xacro(path) or _XACRO.search(content) else content


def expand_xacro(path: Path, arguments: str = "") -> bytes:
    """Return the URDF that the xacro file `path` expands to with `arguments` "name:=value name:=value".

    It is expanded in another process, as its expressions may need any time and memory. Raises MissingDependencyError
    without xacro, InvalidValueError with xacro's message for an invalid file, or one that exceeds the limits.
    """
    with of_extra("xacro", "xacro", f"The file {str(path)!r}"):
        importlib.import_module("xacro")
    mappings = dict(argument.split(":=", 1) for argument in arguments.split())
    request = {"path": str(path), "mappings": mappings, "memory": XACRO_MEMORY, "size": MAX_BYTES}
    # It finds the modules that are found here, as some were put on the path by the program.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, xacro_program.__file__],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            env=environment,
            timeout=XACRO_TIME,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _not_expanded(path, f"it takes longer than {XACRO_TIME:g} s") from error
    outcome, _, content = done.stdout.partition(b"\n")
    if outcome != b"ok":
        raise _not_expanded(path, content.decode(errors="replace") or f"its process ended with {done.returncode}")
    return content


def _not_expanded(path: Path, reason: str) -> InvalidValueError:
    return InvalidValueError(f"{path}: xacro cannot expand it: {reason}")


def expanded_file(path: Path, arguments: str = "") -> Path:
    """Return a URDF file with the expansion of the xacro file `path`; it is expanded again when the file changes."""
    about = status(path)
    found = _expanded_file(path, arguments, about.st_mtime_ns, about.st_size)
    if not is_file(found):  # the cache folder was emptied
        _expanded_file.cache_clear()
    return found if is_file(found) else _expanded_file(path, arguments, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _expanded_file(path: Path, arguments: str, _changed: int, _size: int) -> Path:
    name = path.name.removesuffix(XACRO_SUFFIX)
    text = expand_xacro(path, arguments).decode()
    # The copy is in another folder, so file names relative to the original become absolute.
    names = {found[2][1:-1] for found in _FILE.finditer(text) if "://" not in found[2]}
    content = fill_places(text, {name: seen_by_pybullet(path, name) or name for name in names}).encode()
    return keep(content, name if name.endswith(".urdf") else f"{name}.urdf")


def fill_places(text: str, places: Mapping[str, str]) -> str:
    """Return the XML `text` with file names that are keys of `places` replaced by their values."""
    return _FILE.sub(lambda found: found[1] + quoteattr(places.get(found[2][1:-1], found[2][1:-1])), text)
