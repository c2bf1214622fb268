"""Text to values: the YAML scalars and lists that launch files write as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import yaml

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from .substitutions import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

_TRUE = {"true", "yes", "on", "y", "1"}
_FALSE = {"false", "no", "off", "n", "0"}


def coerce_to_type(text: str, data_type: type | None = None, *, can_be_str: bool = True) -> Any:
    """The value a text stands for: of `data_type`, or whatever YAML makes of it. Raises ValueError."""
    if data_type is str:
        return text
    if data_type is bool:
        lowered = text.strip().lower()
        if lowered in _TRUE | _FALSE:
            return lowered in _TRUE
        raise ValueError(f"cannot read '{text}' as bool; write true or false")
    if data_type is int or data_type is float:
        try:
            return data_type(text)
        except ValueError:
            raise ValueError(f"cannot read '{text}' as {data_type.__name__}") from None
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    if value is None or isinstance(value, dict) or not isinstance(value, bool | int | float | str | list):
        value = text
    if isinstance(value, str) and not can_be_str:
        raise ValueError(f"cannot read '{text}' as a bool, a number or a list")
    return value


def normalize_typed_substitution(value: Any, data_type: type | None = None) -> Any:
    """A value as it is, or text and substitutions as a list of substitutions to be read later."""
    if isinstance(value, str | Substitution):
        return normalize_to_list_of_substitutions(value)
    if isinstance(value, Iterable):
        value = list(value)
        if any(isinstance(part, Substitution) for part in value):
            return normalize_to_list_of_substitutions(value)
    return value


def perform_typed_substitution(context: LaunchContext, value: Any, data_type: type | None = None) -> Any:
    """The value in a context, of `data_type` where one is given."""
    if isinstance(value, list) and value and all(isinstance(v, Substitution) for v in value):
        return coerce_to_type(perform_substitutions(context, value), data_type)
    return value


def perform_float(context: LaunchContext, value: float | SomeSubstitutionsType) -> float:
    """A number, or text and substitutions that make one. Raises ValueError."""
    if isinstance(value, int | float):
        return float(value)
    return float(
        coerce_to_type(perform_substitutions(context, normalize_to_list_of_substitutions(value)), float)
    )
