"""The interface packages as Python modules: `pocket_ros.interfaces.packages.std_msgs.msg.String`.

`std_msgs` itself is an alias of `pocket_ros.interfaces.packages.std_msgs`. The modules have no files: a
finder makes them
from the definitions, and classes are generated when first asked for.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from .. import catalog
from .modules import fill_kind, fill_package, fill_single

_PREFIX = f"{__name__}."


class InterfaceFinder(MetaPathFinder):
    """Finds `<package>`, `<package>.<kind>` and `<package>.<kind>._<name>` inside this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX) or fullname == f"{_PREFIX}modules":
            return None
        parts = fullname.removeprefix(_PREFIX).split(".")
        if len(parts) == 1:
            known = catalog.has_package(parts[0])
        elif len(parts) <= 3 and parts[1] in catalog.KINDS:
            known = parts[1] in catalog.interface_names(parts[0])
        else:
            known = False
        if not known or (len(parts) == 3 and not parts[2].startswith("_")):
            return None
        return ModuleSpec(fullname, InterfaceLoader(parts), is_package=len(parts) < 3)


class InterfaceLoader(Loader):
    """Fills a module from the definitions."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        fill = (fill_package, fill_kind, fill_single)[len(self.parts) - 1]
        fill(module, *self.parts)


sys.meta_path.insert(0, InterfaceFinder())
