"""Checks arguments from a configuration before a constructor is called, so that errors name the parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fleet_sim.errors import InvalidValueError, StateError, did_you_mean


def check_sequence(actions: Iterable[Any], check: Callable[[Any], object]) -> list[Any]:
    """Return `actions` as a list after `check` of each, so that all of them are queued or none.

    Raises what `check` raises, and StateError for an action that is there twice.
    """
    chosen, seen = list(actions), set[int]()
    for action in chosen:
        check(action)
        # By identity: two actions with equal parameters are two.
        if id(action) in seen:
            raise StateError(f"{action!r} is there twice; one action serves once")
        seen.add(id(action))
    return chosen


def check_arguments(function: Callable[..., Any], arguments: Mapping[str, Any], what: str) -> None:
    """Raise InvalidValueError unless `function` accepts `arguments` by name and none is missing.

    A parameter declared `bool` must be given as one.
    """
    parameters = inspect.signature(function).parameters
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for name in arguments:
            if name not in named:
                raise InvalidValueError(f"{what}: unknown parameter {name!r}.{did_you_mean(str(name), named)}")
    for name, parameter in named.items():
        if name not in arguments and parameter.default is parameter.empty:
            raise InvalidValueError(f"{what}: the parameter {name!r} is missing")
        if name in arguments and parameter.annotation in (bool, "bool") and not isinstance(arguments[name], bool):
            raise InvalidValueError(f"{what}: {name} must be true or false, got {arguments[name]!r}")
