"""An OpenGL context without a window."""

from __future__ import annotations

import ctypes
import importlib
import os
from typing import TYPE_CHECKING, Any

from fleet_sim.errors import StateError, missing_extra

if TYPE_CHECKING:
    import moderngl

LIBRARIES = {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1"}
"""Libraries the rasteriser loads, and the packages of Debian and Ubuntu they are in."""
PACKAGES = "libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"


MOST_FREE = 4
_FREE: list[Any] = []
# A context of the parent cannot be used in a child that was forked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FREE.clear)


def take_context() -> moderngl.Context:
    """Return a context that nobody uses; raises as `make_context` does. To be given back."""
    # Each context that is made costs 0.2 MB that moderngl never frees.
    try:
        return _FREE.pop()
    except IndexError:
        return make_context()


def give_back(context: moderngl.Context) -> None:
    """Take back a context that is not used any more. What was made in it may still be there until it is used again."""
    if len(_FREE) < MOST_FREE:
        _FREE.append(context)
    else:
        context.release()


def make_context() -> moderngl.Context:
    """Return a new OpenGL 3.3 context on EGL, current in this thread.

    Raises MissingDependencyError without moderngl, and StateError, saying what to install, where EGL is missing or has
    no device to draw with.
    """
    try:
        module: Any = importlib.import_module("moderngl")
    except ImportError as error:
        raise missing_extra("moderngl", "camera", "The OpenGL renderer") from error
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError as error:
            raise StateError(f"{library} cannot be loaded; apt install {package}, or {PACKAGES} for all") from error
    try:
        context: moderngl.Context = module.create_context(
            require=330, standalone=True, backend="egl", libgl="libGL.so.1", libegl="libEGL.so.1"
        )
    except Exception as error:  # what it raises has no narrower class
        raise StateError(f"EGL gives no OpenGL 3.3 context ({error}); apt install {PACKAGES}") from error
    # Objects are freed when the context is asked to, while it is current: not when Python happens to drop them.
    context.gc_mode = "context_gc"
    return context
