"""Importing the classes of a package from modules of their own, as `launch` has them."""

from __future__ import annotations

import re
import sys
from importlib.machinery import ModuleSpec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def offer_class_modules(package: str, **others: list[Any]) -> None:
    """Let every class in the `__all__` of a package be imported from a module of its own name in snake case.

    Here related classes share a file; in `launch` each has its own, and programs import from those:
    `from launch.substitutions.path_join_substitution import PathJoinSubstitution`. Modules that exist are
    left alone. `others` are modules of other names, with what is in them.
    """
    parent = sys.modules[package]
    existing = {module.name for module in iter_modules(parent.__path__)}
    classes = [c for c in (getattr(parent, name) for name in parent.__all__) if isinstance(c, type)]
    modules = {_WORD.sub("_", c.__name__).lower(): [c] for c in classes} | others
    for name, content in modules.items():
        if name in existing:
            continue
        module = ModuleType(f"{package}.{name}", f"The place of {content[0].__name__} in `launch`.")
        module.__spec__ = ModuleSpec(module.__name__, None)
        for item in content:
            setattr(module, item.__name__, item)
        module.__dict__["__all__"] = [item.__name__ for item in content]
        sys.modules[module.__name__] = module
        setattr(parent, name, module)
