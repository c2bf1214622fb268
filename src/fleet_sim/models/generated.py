"""Files made from a user's: what xacro expands, and copies in which PyBullet finds every mesh.

They lie in a cache folder under a name made from their content, so equal contents share a file and nothing is stale.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import tempfile
from pathlib import Path
from xml.parsers import expat

from fleet_sim.errors import InvalidValueError, missing_extra

XACRO_SUFFIX = ".xacro"


def cache_folder() -> Path:
    """Return the folder of generated files, made where needed: in XDG_CACHE_HOME, or else in the user's .cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "fleet_sim" / "models"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="fleet_sim-models-"))
    return folder


def keep(content: bytes, name: str) -> Path:
    """Return a file with `content`, called `name` with a digest before its suffix."""
    stem, suffix = os.path.splitext(name)
    path = cache_folder() / f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    if not path.is_file():
        # Others may be writing the same file; a rename shows it to them complete or not at all.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    return path


def expand_xacro(path: Path, arguments: str = "") -> bytes:
    """Return the URDF that the xacro file `path` expands to, given "name:=value name:=value".

    Raises MissingDependencyError without xacro, InvalidValueError with xacro's own words for a wrong file.
    """
    try:
        xacro = importlib.import_module("xacro")
    except ImportError as error:
        raise missing_extra("xacro", "xacro", f"The file {str(path)!r}") from error
    mappings = dict(argument.split(":=", 1) for argument in arguments.split())
    try:
        document = xacro.process_file(str(path), mappings=mappings)
    except (xacro.XacroException, expat.ExpatError, OSError, KeyError, ValueError, TypeError, NameError) as error:
        raise InvalidValueError(f"{path}: xacro cannot expand it: {error or type(error).__name__}") from error
    content: bytes = document.toprettyxml(indent="  ", encoding="utf-8")
    return content


def expanded_file(path: Path, arguments: str = "") -> Path:
    """Return a URDF file with what the xacro file `path` expands to."""
    name = path.name.removesuffix(XACRO_SUFFIX)
    return keep(expand_xacro(path, arguments), name if name.endswith(".urdf") else f"{name}.urdf")
