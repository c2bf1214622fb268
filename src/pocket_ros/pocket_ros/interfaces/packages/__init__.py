"""The interface packages as Python modules: `pocket_ros.interfaces.packages.std_msgs.msg.String`.

`std_msgs` itself is an alias of `pocket_ros.interfaces.packages.std_msgs`. The modules have no files: a
finder makes them
from the definitions, and classes are generated when first asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .. import catalog
from ..classes import action_class, message_class, service_class, snake_case

# What the modules of an interface package contain.


_MAKERS: dict[str, Any] = {"msg": message_class, "srv": service_class, "action": action_class}
_PARTS = {
    "srv": ("_Request", "_Response", "_Event"),
    "action": (
        "_Goal",
        "_Result",
        "_Feedback",
        "_FeedbackMessage",
        "_SendGoal_Request",
        "_SendGoal_Response",
        "_GetResult_Request",
        "_GetResult_Response",
    ),
}


def fill_package(module: ModuleType, package: str) -> None:
    """`std_msgs`: its kinds are submodules."""
    module.__doc__ = f"The interfaces of {package}."


def fill_kind(module: ModuleType, package: str, kind: str) -> None:
    """`std_msgs.msg`: classes are made when first asked for."""
    names = catalog.interface_names(package)[kind]

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = _make(package, kind, name)
        except catalog.UnknownInterfaceError as error:
            raise AttributeError(str(error)) from error
        setattr(module, name, found)
        return found

    module.__dict__.update(
        __doc__=f"The {kind} interfaces of {package}.",
        __all__=names,
        __getattr__=get,
        __dir__=lambda: [*module.__dict__, *names],
    )


def fill_single(module: ModuleType, package: str, kind: str, name: str) -> None:
    """`std_msgs.msg._string`: the module rosidl would define the class in."""
    for base in catalog.interface_names(package)[kind]:
        if f"_{snake_case(base)}" == name:
            for part in ("", *_PARTS.get(kind, ())):
                setattr(module, base + part, _make(package, kind, base + part))
            return
    raise ModuleNotFoundError(f"No module named '{module.__name__}'", name=module.__name__)


def _make(package: str, kind: str, name: str) -> Any:
    full = f"{package}/{kind}/{name}"
    if name.endswith(_PARTS.get(kind, ())):
        return message_class(full)
    if kind == "action" and name.endswith(("_SendGoal", "_GetResult")):
        return service_class(full)
    return _MAKERS[kind](full)


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
