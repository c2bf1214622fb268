"""Modules that upstream has and that hold nothing of their own here.

Here related names share a file; upstream gives most of them a module each, and programs import from those:
`from rclpy.validate_namespace import validate_namespace`. Such modules are made when their package is
imported. Each is one object under its public name and its name inside pocket_ros, and holds the very objects
that the package has, so classes are pickled by the module that defines them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def not_covered(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for a module: names in the table of refused names raise NotImplementedError."""

    def get(name: str) -> Any:
        from .refused_names import hint, refused_names

        if name in refused_names(module):
            told = f"{module}.{name} is not covered by pocket_ros; a full ROS 2 has it"
            raise NotImplementedError(told + hint(module))
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return get


class NotCovered:
    """A member of a class that only a full ROS 2 has: asking for it raises NotImplementedError."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._told = f"{owner.__qualname__}.{name} is not covered by pocket_ros; a full ROS 2 has it"

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise NotImplementedError(self._told)


def offer_modules(package: str, modules: Mapping[str, Mapping[str, Any]]) -> None:
    """Let names be imported from modules of a package: module name -> what it holds, by name."""
    parent = sys.modules[package]
    for name, content in modules.items():
        module = ModuleType(f"{package}.{name}", f"The public place of {', '.join(content)}.")
        module.__spec__ = ModuleSpec(module.__name__, None)
        public = module.__name__.removeprefix("pocket_ros.")
        module.__dict__.update(content, __all__=list(content), __getattr__=not_covered(public))
        sys.modules[module.__name__] = module
        if name not in content:  # a function of the module's name is what the package is asked for
            setattr(parent, name, module)


def offer_class_modules(package: str, **others: list[Any]) -> None:
    """Let every class in the `__all__` of a package be imported from a module of its own name in snake case.

    So it is in `launch`: `from launch.substitutions.path_join_substitution import PathJoinSubstitution`.
    Modules that exist are left alone. `others` are modules of other names, with the classes and functions in
    them.
    """
    from pkgutil import iter_modules  # slow to import, and rclpy does without

    parent = sys.modules[package]
    existing = {module.name for module in iter_modules(parent.__path__)}
    classes = [c for c in (getattr(parent, name) for name in parent.__all__) if isinstance(c, type)]
    modules = {_WORD.sub("_", c.__name__).lower(): [c] for c in classes} | others
    offer_modules(
        package,
        {
            name: {item.__name__: item for item in content}
            for name, content in modules.items()
            if name not in existing
        },
    )
