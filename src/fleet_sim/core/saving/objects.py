"""Objects of saved classes as their attributes, and made of them again without running code of theirs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from types import MemberDescriptorType
from typing import Any

from fleet_sim.errors import StateFileError, brief


def refusal(value: object) -> str:
    """Return why `value` cannot be saved, naming it as its author does."""
    # The author knows the function that was wrapped, not the wrapper.
    while isinstance(value, partial):
        value = value.func
    if callable(value) and hasattr(value, "__qualname__"):
        module = getattr(value, "__module__", "")
        return f"the function {module}.{value.__qualname__} cannot be saved: a file holds no code"
    kind = type(value)
    return (
        f"an object of {kind.__module__}.{kind.__qualname__} cannot be saved; mark the class with fleet_sim.saved if "
        "its attributes are all there is to it"
    )


def attributes_of(value: object) -> dict[str, Any]:
    """Return all attributes of an object by name, but those that are computed from others."""
    cls = type(value)
    found = {name: getattr(value, name) for name in getattr(cls, "_fields", ())}
    for ancestor in cls.__mro__:
        slots = vars(ancestor).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__") and hasattr(value, name):
                found[name] = getattr(value, name)
    found.update(getattr(value, "__dict__", {}))
    return {name: item for name, item in found.items() if not isinstance(_static(cls, name), cached_property)}


def object_of(cls: type[Any], attributes: Mapping[str, Any]) -> Any:
    """Return an object of `cls` with these attributes; raises StateFileError for what it does not have.

    Neither its constructor nor any other code of it is called.
    """
    if issubclass(cls, Enum):
        raise StateFileError(f"{cls.__name__}: its values are named, not made of attributes")
    if issubclass(cls, tuple):
        names = getattr(cls, "_fields", ())
        if set(attributes) != set(names):
            raise StateFileError(f"{cls.__name__}: expected {', '.join(names)}, got {brief(sorted(attributes))}")
        # Not by the class itself, whose `__new__` may be the user's.
        return tuple.__new__(cls, [attributes[name] for name in names])
    if is_dataclass(cls):
        missing = [field.name for field in fields(cls) if field.name not in attributes]
        if missing:
            raise StateFileError(f"{cls.__name__}: {', '.join(missing)} is missing")
    made: Any = object.__new__(cls)
    give_attributes(made, attributes)
    return made


def give_attributes(thing: object, attributes: Mapping[str, Any]) -> None:
    """Set attributes of `thing`, frozen or not; raises StateFileError for a name that is no attribute of its own."""
    cls = type(thing)
    for name, value in attributes.items():
        known = _static(cls, name)
        # A slot, or the default of a field: anything else would be hidden, or would be called.
        own = known is None or isinstance(known, MemberDescriptorType) or not _is_code(known)
        if not isinstance(name, str) or name.startswith("__") or not own:
            raise StateFileError(f"{cls.__name__} has no attribute {brief(name)} that can be read from a file")
        object.__setattr__(thing, name, value)


def _is_code(known: object) -> bool:
    return hasattr(type(known), "__get__") or hasattr(type(known), "__set__") or callable(known)


def _static(cls: type[Any], name: str) -> object:
    return inspect.getattr_static(cls, name, None)
