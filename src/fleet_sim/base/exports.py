"""Lazy names of a package: modules are loaded at the first use of a name, so that importing the package is fast.

A package lists its names once, as imports under `TYPE_CHECKING`: type checkers and editors read them as imports, and
`lazy` reads them from the source. `__getattr__` is defined under `else`, where type checkers do not see it: for them a
module with `__getattr__` has every name, and a misspelt name would pass.

    if TYPE_CHECKING:
        from fleet_sim.base.geometry import Path as Path
        from fleet_sim.base.geometry import Pose as Pose
    else:
        __all__, __getattr__, __dir__ = lazy(globals())

`import *` stands for what a package below hands on by imports of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy(namespace: dict[str, Any]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` for the package with the globals `namespace`.

    Its names are those that it imports under `TYPE_CHECKING`. Raises ImportError where its source is not there.
    """
    package = namespace["__name__"]
    # By the loader and not from the file: a package may also be in a zip archive.
    source = namespace["__spec__"].loader.get_source(package)
    if source is None:
        raise ImportError(f"{package}: its names are read from its source, which is missing; install it with sources")
    home_of = _typed_imports(source)

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        # Stored in the module: the next use of the name does not call this function.
        value = namespace[name] = getattr(import_module(home), name)
        return value

    return sorted(home_of), load, lambda: sorted({*namespace, *home_of})


def _typed_imports(source: str) -> dict[str, str]:
    """Return the module of each name that `source` imports under `if TYPE_CHECKING`."""
    guarded = [
        statement
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
    ]
    found: dict[str, str] = {}
    for statement in guarded:
        if isinstance(statement, ast.ImportFrom):
            home = str(statement.module)
            for alias in statement.names:
                found |= dict.fromkeys(_handed_on(home) if alias.name == "*" else (alias.name,), home)
    return found


def _handed_on(package: str) -> list[str]:
    """Return the names that a package imports to hand them on, each `as` itself."""
    spec = find_spec(package)
    source = spec.loader.get_source(package) if spec is not None else ""  # type: ignore[union-attr]  # as above
    imports = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom))
    return [alias.name for node in imports for alias in node.names if alias.asname == alias.name]
