"""Lazy names of a package: modules are loaded at the first use of a name, so that importing the package is fast.

A package lists its names twice: as imports, for type checkers and editors, which cannot evaluate a table; and as the
table. A test checks that both are equal. `__getattr__` is defined under `else`, where type checkers do not see it: for
them a module with `__getattr__` has every name, and a misspelt name would pass.

    _HOMES = {"geometry": "Path Pose"}

    if TYPE_CHECKING:
        from fleet_sim.geometry import Path as Path
        from fleet_sim.geometry import Pose as Pose
    else:
        __all__, __getattr__, __dir__ = lazy(globals(), _HOMES)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    namespace: dict[str, Any], homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` for the package with the globals `namespace`.

    `homes` maps each module of the package to its names, separated by spaces.
    """
    package = namespace["__name__"]
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        # Stored in the module: the next use of the name does not call this function.
        value = namespace[name] = getattr(import_module(f"{package}.{home}"), name)
        return value

    return sorted(home_of), load, lambda: sorted({*namespace, *home_of})
