"""Classes whose objects may stand in a state file: those that say so, and no other."""

from __future__ import annotations

from typing import Any, TypeVar

from fleet_sim.errors import InvalidValueError
from fleet_sim.registry import Registry, subclasses_of

Class = TypeVar("Class", bound=type)

SAVED: Registry[type[Any]] = Registry("saved class", subclasses_of(object))
"""The classes by name. A file holds names; what is read from it makes objects of these classes and runs none of their
code, so a class belongs here only if its attributes are all there is to it."""


def saved(cls: Class) -> Class:
    """Let objects of `cls` be written into state files, with all their attributes; a decorator.

    It must be found at the top of a module, so that another process finds it too. Raises InvalidValueError, and
    DuplicateNameError where another class has its name.
    """
    if "<locals>" in cls.__qualname__:
        raise InvalidValueError(
            f"saved: {cls.__qualname__} is made within a function; move it to the top of its module"
        )
    SAVED.register(cls.__name__, cls)
    _NAMES[cls] = cls.__name__
    return cls


def saved_name(cls: type[Any]) -> str | None:
    """Return the name of `cls` in state files; None where it has none."""
    return _NAMES.get(cls)


_NAMES: dict[type[Any], str] = {}
