"""Names of a package that are loaded at their first use, so that importing the package costs nothing.

A package writes its names twice: for type checkers and editors, which cannot follow a table, as imports; and as the
table. A test holds the two equal. `__getattr__` stands behind `else`, where type checkers do not see it: to them a
module that has one has every name, and a misspelt name would pass.

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

    `homes` has the package's modules, and the names in each, separated by spaces.
    """
    package = namespace["__name__"]
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        # Kept: the next use of the name is an ordinary look-up and does not come here.
        value = namespace[name] = getattr(import_module(f"{package}.{home}"), name)
        return value

    return sorted(home_of), load, lambda: sorted({*namespace, *home_of})
