"""The compiled part of the Python binding of Cyclone DDS, without the rest of it.

`import cyclonedds` reads all of the binding, among it the description of every built-in type, which takes as
long as all else that a node needs. What is used here is two modules of it. They are imported below a package
that holds nothing; the package itself is imported as usual by whoever asks for it, and finds the two there.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

__all__ = ["clayer", "library"]

_PACKAGE = "cyclonedds"
_MODULES = (f"{_PACKAGE}.internal", f"{_PACKAGE}._clayer")


def _import_modules() -> tuple[Any, Any]:
    if _PACKAGE in sys.modules:
        internal, clayer = map(importlib.import_module, _MODULES)
        return internal, clayer
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(f"No module named '{_PACKAGE}'", name=_PACKAGE)
    placeholder = sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        internal, clayer = map(importlib.import_module, _MODULES)
    finally:
        # Another thread may have imported the package in the meantime.
        if sys.modules.get(_PACKAGE) is placeholder:
            del sys.modules[_PACKAGE]
    return internal, clayer


_internal, clayer = _import_modules()
library = ctypes.CDLL(_internal.DDS._dll_handle._name)
"""The library of Cyclone DDS. Not the handle of the binding, which declares the same functions otherwise."""
