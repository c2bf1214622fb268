"""Values of parameters: what ROS can hold, from what a launch file wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args, get_origin

import yaml

from ...launch.substitution import Substitution
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ...launch.utilities.type_utils import normalize_typed_substitution

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext

SCALARS = (bool, int, float, str)
_HINT = "launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
_UNIFORM = "Expected a non-empty sequence, with items of one type out of bool, int, float and str"


class BadParameterText(TypeError, ValueError):
    """A text that stands for nothing a parameter can be."""


def text_to_value(text: str, value_type: Any = None) -> Any:
    """The value a text stands for: as YAML, or of the type asked for. Raises BadParameterText."""
    if value_type is str or not text:
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        if value_type is None:
            raise BadParameterText(
                f"Unable to parse the value of parameter as yaml: {text!r}; if it is text, wrap it in {_HINT}"
            ) from error
        raise ValueError(f"cannot read {text!r} as {value_type}: {error}") from error
    if value_type is None and not isinstance(value, bool | int | float | str | list):
        raise BadParameterText(
            "Allowed value types are bytes, bool, int, float, str and sequences of one of these, got "
            f"{type(value).__name__} from {text!r}; if it is text, wrap it in {_HINT}"
        )
    if value_type is None and isinstance(value, list):
        kinds = {type(item) for item in value}
        if len(kinds) != 1 or not kinds <= set(SCALARS):
            raise BadParameterText(f"{_UNIFORM}, got {text!r}")
    return checked(value, value_type)


def checked(value: Any, value_type: Any) -> Any:
    """The value if it is of the type (int serves as float). Raises ValueError naming both."""
    if value_type is None:
        return value
    if value_type is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    origin = get_origin(value_type)
    if value_type is list or origin is list or (origin is not None and isinstance(value, list)):
        item = (get_args(value_type) or (None,))[0]
        if isinstance(value, list | tuple):
            return [checked(v, item) for v in value]
    elif isinstance(value, value_type) and not (isinstance(value, bool) and value_type is not bool):
        return value
    raise ValueError(f"Allowed value type is '{value_type}', got {value!r} of type {type(value).__name__}")


class ParameterValue:
    """A value with a type: `ParameterValue(LaunchConfiguration('rate'), value_type=float)`.

    Without a type the text is read as YAML. Raises ValueError for text that is not of the type.
    """

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not (is_number and value_type is float) and not hasattr(value, "tolist"):
            value = normalize_typed_substitution(value, value_type)
        self._value = value
        self._value_type = value_type
        self._evaluated: Any = None

    @property
    def value(self) -> Any:
        """The value, before `evaluate` as given or as substitutions."""
        return self._value if self._evaluated is None else self._evaluated

    @property
    def value_type(self) -> Any:
        """The type asked for, or None."""
        return self._value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """The value: a bool, a number, text, or a list of one of them."""
        self._evaluated = self._evaluate(context)
        return self._evaluated

    def _evaluate(self, context: LaunchContext) -> Any:
        value = self._value
        if isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value):
            items = _items_of_parts(context, value, (get_args(self._value_type) or (None,))[0])
            return checked(_uniform(items), self._value_type)
        if isinstance(value, str):
            return value
        is_parts = isinstance(value, list | tuple) and any(isinstance(part, Substitution) for part in value)
        if is_parts:
            text = perform_substitutions(context, normalize_to_list_of_substitutions(value))
            return text_to_value(text, self._value_type)
        return checked(evaluate_value(context, value), self._value_type)


def check_value(name: Any, value: Any) -> None:
    """Raises TypeError for what no parameter can be, whatever substitutions give."""
    allowed = (*SCALARS, bytes, Substitution, ParameterValue)
    if isinstance(value, allowed) or hasattr(value, "tolist"):
        return
    if isinstance(value, list | tuple) and all(
        isinstance(item, allowed) or _is_text_of_parts(item) for item in value
    ):
        return
    raise TypeError(
        f"parameter {name!r} cannot be {value!r}; allowed are bool, int, float, str, bytes, substitutions and"
        " lists of one of these"
    )


def _is_text_of_parts(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(isinstance(part, str | Substitution) for part in item)


def evaluate_value(context: LaunchContext, value: Any) -> Any:
    """A value of a parameter dictionary in a context.

    A substitution, alone or among text in a sequence, becomes text that is read as YAML; text given as such
    stays text; sequences hold items of one type. Raises TypeError for what no parameter can be.
    """
    if isinstance(value, ParameterValue):
        return value.evaluate(context)
    if isinstance(value, Substitution):
        return text_to_value(value.perform(context))
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, bytes):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
        return evaluate_value(context, value)
    if isinstance(value, list | tuple):
        return _evaluate_sequence(context, list(value))
    raise TypeError(f"a parameter cannot be {value!r} of type {type(value).__name__}")


def _evaluate_sequence(context: LaunchContext, items: list[Any]) -> Any:
    if items and all(isinstance(item, Substitution | str) for item in items):
        if any(isinstance(item, Substitution) for item in items):
            parts = [
                item if isinstance(item, str) else perform_substitutions(context, [item]) for item in items
            ]
            return text_to_value("".join(parts))
        return items
    if any(isinstance(item, list | tuple) for item in items):
        return _uniform(_items_of_parts(context, items))
    return _uniform([item.evaluate(context) if isinstance(item, ParameterValue) else item for item in items])


def _items_of_parts(context: LaunchContext, items: Iterable[Any], item_type: Any = None) -> list[Any]:
    """With a sequence among them each item is of its own: [["robot_", LaunchConfiguration("n")], "b"].

    What substitutions give is read as YAML, item by item, or as the type asked for.
    """
    values: list[Any] = []
    for item in items:
        if isinstance(item, list | tuple | Substitution):
            text = perform_substitutions(context, normalize_to_list_of_substitutions(item))
            values.append(text_to_value(text, item_type))
        else:
            values.append(item.evaluate(context) if isinstance(item, ParameterValue) else item)
    return values


def _uniform(values: list[Any]) -> list[Any]:
    """The values, all of one type; int with float becomes float. Raises TypeError."""
    kinds = {type(v) for v in values}
    if kinds == {int, float}:
        return [float(v) for v in values]
    if len(kinds) > 1 or not kinds <= set(SCALARS):
        raise TypeError(f"{_UNIFORM}, got {values!r}")
    return values
