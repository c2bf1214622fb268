"""Type checks with readable errors."""

import inspect
from collections.abc import Iterable
from typing import Any


def is_a(obj: Any, entity_type: type) -> bool:
    """Whether `obj` is an instance of the type."""
    return isinstance(obj, entity_type)


def is_a_subclass(obj: Any, entity_type: type) -> bool:
    """Whether `obj` is an instance or a subclass of the type."""
    return isinstance(obj, entity_type) or (inspect.isclass(obj) and issubclass(obj, entity_type))


def isclassinstance(obj: Any) -> bool:
    """Whether `obj` is an instance of a class, not a class or a builtin function."""
    return not inspect.isclass(obj) and not inspect.isroutine(obj)


def ensure_argument_type(
    argument: object, types: type | Iterable[type], argument_name: str, caller: str | None = None
) -> None:
    """Raise TypeError unless `argument` is of one of the types, saying which are allowed."""
    allowed = (types,) if isinstance(types, type) else tuple(types)
    if not isinstance(argument, allowed):
        names = ", ".join(getattr(t, "__name__", str(t)) for t in allowed)
        where = f"{caller}: " if caller else ""
        raise TypeError(
            f"{where}'{argument_name}' expected to be one of ({names}), got {type(argument).__name__}"
        )
