"""Values of parameters: what ROS can hold, from what a launch file wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args, get_origin

import yaml

from ...launch.substitution import Substitution
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext

SCALARS = (bool, int, float, str)


def text_to_value(text: str, value_type: Any = None) -> Any:
    """The value a text stands for: what YAML makes of it, or of the type asked for. Raises ValueError."""
    if value_type is str:
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        if value_type is None:
            raise ValueError(
                f"Unable to parse the value of parameter as yaml: {text!r}; if it is text, wrap it in "
                "launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
            ) from error
        raise ValueError(f"cannot read {text!r} as {value_type}: {error}") from error
    if value_type is None and not isinstance(value, bool | int | float | str | list):
        return "" if value is None else text  # a date or a mapping is no parameter: it was meant as text
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
        self._value = value
        self._value_type = value_type

    @property
    def value(self) -> Any:
        """The value as given."""
        return self._value

    @property
    def value_type(self) -> Any:
        """The type asked for, or None."""
        return self._value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """The value: a bool, a number, text, or a list of one of them."""
        value = self._value
        if isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value):
            items = _items_of_parts(context, value, (get_args(self._value_type) or (None,))[0])
            return checked(_uniform(items), self._value_type)
        is_text = isinstance(value, str | Substitution)
        is_parts = isinstance(value, list | tuple) and any(isinstance(part, Substitution) for part in value)
        if is_text or is_parts:
            text = perform_substitutions(context, normalize_to_list_of_substitutions(value))
            return text_to_value(text, self._value_type)
        return checked(evaluate_value(context, value), self._value_type)


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
        return list(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
        return evaluate_value(context, value)
    if isinstance(value, list | tuple | set):
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
        raise TypeError(
            f"a parameter's list must hold items of one type out of bool, int, float and str: {values!r}"
        )
    return values
