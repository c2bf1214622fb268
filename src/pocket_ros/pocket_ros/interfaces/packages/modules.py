"""What the modules of an interface package contain."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import catalog
from ..classes import action_class, message_class, service_class, snake_case

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
