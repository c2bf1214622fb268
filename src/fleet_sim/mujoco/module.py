"""The mujoco module, loaded when it is first needed."""

from __future__ import annotations

import ctypes
import importlib
import logging
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from fleet_sim.errors import missing_extra

log = logging.getLogger("fleet_sim.mujoco")
MOST_KINDS = 100
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
_warned: set[str] = set()


def mujoco_module() -> Any:
    """Import mujoco and return it; raises MissingDependencyError naming the extra that installs it."""
    loaded = sys.modules.get("mujoco")
    if loaded is not None:
        return loaded
    try:
        module = importlib.import_module("mujoco")
    except ImportError as error:
        raise missing_extra("mujoco", "mujoco", "Physics with engine: mujoco") from error
    # Otherwise it prints each warning, and writes a file into the working folder.
    module.set_mju_user_warning(_warn)
    return module


def is_lack_of_memory(error: Exception) -> bool:
    """Return whether a FatalError of MuJoCo says that its memory is too small; it has one class for all errors."""
    return any(word in str(error) for word in ("memory", "arena"))


def return_free_memory() -> None:
    """Return memory that the C library keeps for later to the system, where its C library can do that (glibc)."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


def _warn(text: str) -> None:
    """Log a warning of MuJoCo, the first of each kind."""
    kind = _NUMBER.sub("", text)
    if kind not in _warned and len(_warned) < MOST_KINDS:
        _warned.add(kind)
        log.warning("%s; further ones of this kind are not logged", text.strip())
