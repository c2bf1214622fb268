"""Parameters that are known only when the launch runs."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, get_args, get_origin  # noqa: UP035 - entities are asked for typing.List

import yaml

from ..launch.description import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple, Substitution
from ..launch.frontend.parser import Entity, Parser, get_data_type_from_identifier, parse_substitution
from ..launch.utilities import (
    extract_type,
    normalize_to_list_of_substitutions,
    normalize_typed_substitution,
    perform_bool,
    perform_substitutions,
)

if TYPE_CHECKING:
    from ..launch.description import LaunchContext
    from ..rclpy.parameter import Parameter as RclpyParameter

__all__ = ["Parameter", "ParameterFile", "ParameterValue"]


# Values of parameters: what ROS can hold, from what a launch file wrote.


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
        self.value_type = value_type
        self._evaluated: Any = None

    @property
    def value(self) -> Any:
        """The value, before `evaluate` as given or as substitutions."""
        return self._value if self._evaluated is None else self._evaluated

    def evaluate(self, context: LaunchContext) -> Any:
        """The value: a bool, a number, text, or a list of one of them."""
        self._evaluated = self._evaluate(context)
        return self._evaluated

    def _evaluate(self, context: LaunchContext) -> Any:
        value = self._value
        if isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value):
            items = _items_of_parts(context, value, (get_args(self.value_type) or (None,))[0])
            return checked(_uniform(items), self.value_type)
        if isinstance(value, str):
            return value
        is_parts = isinstance(value, list | tuple) and any(isinstance(part, Substitution) for part in value)
        if is_parts:
            text = perform_substitutions(context, normalize_to_list_of_substitutions(value))
            return text_to_value(text, self.value_type)
        return checked(evaluate_value(context, value), self.value_type)


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


# Substitutions written inside text: `$(var name)`, `$(env NAME default)`, `$(find-pkg-share package)`
# and others.


def substitute_text(context: LaunchContext, text: str) -> str:
    """The text with every `$(…)` replaced; what they give is not looked at again.

    Raises ValueError for a substitution that does not exist, is badly written or has too few or many words.
    """
    return perform_substitutions(context, parse_substitution(text))


class Parameter:
    """One parameter with its name."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: Any,
        *,
        value_type: Any = None,
        description: SomeSubstitutionsType | None = None,
    ) -> None:
        self._name = normalize_to_list_of_substitutions(name)
        self._value = (
            value if isinstance(value, ParameterValue) else ParameterValue(value, value_type=value_type)
        )
        self._evaluated_name: str | None = None
        self.description = None if description is None else normalize_to_list_of_substitutions(description)

    @property
    def name(self) -> list[Substitution] | str:
        """The name, before `evaluate` as substitutions."""
        return self._name if self._evaluated_name is None else self._evaluated_name

    @property
    def value(self) -> Any:
        """The value, before `evaluate` as given or as substitutions."""
        return self._value.value

    @property
    def value_type(self) -> Any:
        """The type asked for, or None."""
        return self._value.value_type

    def evaluate(self, context: LaunchContext) -> tuple[str, Any]:
        """Name and value."""
        self._evaluated_name = perform_substitutions(context, self._name)
        return self._evaluated_name, self._value.evaluate(context)


class ParameterFile:
    """A parameter file; with `allow_substs` texts such as `$(var name)` in it are replaced, in a copy."""

    def __init__(
        self,
        param_file: SomeSubstitutionsType | os.PathLike[str],
        *,
        allow_substs: bool | SomeSubstitutionsType = False,
    ) -> None:
        path = str(param_file) if isinstance(param_file, Path) else param_file
        self._param_file = normalize_to_list_of_substitutions(path)  # type: ignore[arg-type]
        self.allow_substs = allow_substs
        self._path: Path | None = None
        self._copy: Path | None = None

    @property
    def param_file(self) -> list[Substitution] | Path:
        """The path, before `evaluate` as substitutions."""
        return self._param_file if self._path is None else self._path

    def evaluate(self, context: LaunchContext) -> Path:
        """The path of the file, or of its copy. Raises ValueError when the copy is not YAML."""
        path = Path(perform_substitutions(context, self._param_file))
        allowed = perform_bool(context, self.allow_substs)
        self._path = path
        if not allowed:
            return path
        text = substitute_text(context, path.read_text())
        try:
            yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"the substituted parameter file {path} is not valid YAML: {error}") from error
        with tempfile.NamedTemporaryFile("w", prefix="launch_params_", suffix=".yaml", delete=False) as copy:
            copy.write(text)
        self._path = self._copy = Path(copy.name)
        return self._copy

    def cleanup(self) -> None:
        """Remove the copy."""
        if self._copy is not None:
            self._copy.unlink(missing_ok=True)
            self._copy = self._path = None


# What may be given as parameters, as it is given, kept and evaluated.


_Scalar = str | int | float | bool

SomeParameterFile = SomeSubstitutionsType | PathLike[str] | ParameterFile
SomeParameterName = Sequence[Substitution | str]
SomeParameterValue = (
    ParameterValue
    | SomeSubstitutionsType
    | Sequence[SomeSubstitutionsType]
    | _Scalar
    | Sequence[_Scalar]
    | bytes
)
SomeParameterValue_types_tuple = (*SomeSubstitutionsType_types_tuple, str, int, float, bool, bytes)
SomeParametersDict = Mapping[SomeParameterName, Any]
SomeParameters = Sequence[
    ParameterFile | Parameter | PathLike[str] | SomeSubstitutionsType | Mapping[SomeSubstitutionsType, Any]
]

ParameterName = Sequence[Substitution]
ParametersTypeParameterValue = (
    Sequence[Substitution]
    | Sequence[Sequence[Substitution]]
    | _Scalar
    | Sequence[_Scalar]
    | bytes
    | ParameterValue
)
ParametersDict = dict[ParameterName, ParametersTypeParameterValue]
Parameters = Sequence[ParameterFile | ParametersDict | Parameter]

EvaluatedParameterValue = _Scalar | Sequence[_Scalar] | bytes
EvaluatedParameters = Sequence[Path | Parameter | dict[str, EvaluatedParameterValue]]


# Parameters of a node: files, dictionaries and single ones, in order.


Evaluated = Path | dict[str, Any]


def normalize_parameters(parameters: Any) -> tuple[Any, ...]:
    """Files become ParameterFile; dictionaries and Parameter stay. Raises TypeError for anything else."""

    if isinstance(parameters, str | Mapping) or not isinstance(parameters, Sequence):
        raise TypeError(f"Expecting 'parameters' to be a list of files and dictionaries, got {parameters!r}")
    normalized: list[Any] = []
    for item in parameters:
        if isinstance(item, Mapping):
            check_parameters(item)
            normalized.append(item)
        elif isinstance(item, Parameter | ParameterFile):
            normalized.append(item)
        elif isinstance(item, str | Substitution | PathLike | Iterable):
            normalized.append(ParameterFile(item))
        else:
            raise TypeError(f"expected a parameter file or a dictionary of parameters, got {item!r}")
    return tuple(normalized)


def check_parameters(parameters: Mapping[Any, Any]) -> None:
    """Raises TypeError for names that are no text and for values that no parameter can have."""
    for name, value in parameters.items():
        normalize_to_list_of_substitutions(name)
        if isinstance(value, Mapping):
            check_parameters(value)
        else:
            check_value(name, value)


def normalize_parameter_dict(parameters: Mapping[Any, Any]) -> dict[tuple[Substitution, ...], Any]:
    """Names as tuples of substitutions, nested ones joined by dots; values as they are. Raises TypeError."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"expected a dictionary of parameters, got {parameters!r}")
    flat: dict[tuple[Substitution, ...], Any] = {}
    for name, value in parameters.items():
        parts = tuple(normalize_to_list_of_substitutions(name))
        if isinstance(value, Mapping):
            dot = tuple(normalize_to_list_of_substitutions("."))
            inside = normalize_parameter_dict(value)
            flat.update({(*parts, *dot, *inner): held for inner, held in inside.items()})
        else:
            flat[parts] = value
    return flat


def evaluate_parameter_dict(context: LaunchContext, parameters: Mapping[Any, Any]) -> dict[str, Any]:
    """A flat dictionary, nested names joined by dots; lists are tuples. Raises ValueError and TypeError."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"expected a dictionary of parameters, got {parameters!r}")
    return _flatten(context, parameters)


def _flatten(context: LaunchContext, parameters: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in parameters.items():
        parts = normalize_to_list_of_substitutions(name)
        full = prefix + perform_substitutions(context, parts)
        if isinstance(value, Mapping):
            flat.update(_flatten(context, value, f"{full}."))
        else:
            found = evaluate_value(context, value)
            as_tuple = isinstance(found, list) and not isinstance(value, ParameterValue)
            flat[full] = tuple(found) if as_tuple else found
    return flat


def evaluate_parameters(context: LaunchContext, parameters: Iterable[Any]) -> tuple[Evaluated, ...]:
    """Paths of files and flat dictionaries, nested names joined by dots. Raises ValueError and TypeError."""

    evaluated: list[Evaluated] = []
    for item in parameters:
        if isinstance(item, Mapping):
            evaluated.append(_flatten(context, item))
        elif isinstance(item, Parameter):
            name, value = item.evaluate(context)
            evaluated.append({name: value})
        else:
            file: ParameterFile = item
            evaluated.append(file.evaluate(context))
    return tuple(evaluated)


def to_parameters_list(
    context: LaunchContext, node_name: str, namespace: str, evaluated_parameters: Iterable[Evaluated]
) -> list[RclpyParameter]:
    """Parameters as rclpy has them, those of files as far as they are for the node."""
    from ..rclpy.parameter import Parameter as RclpyParameter

    full_name = "/".join(filter(None, [(namespace or "").strip("/"), node_name.strip("/")]))
    found: list[RclpyParameter] = []
    for item in evaluated_parameters:
        values = _of_file(item, full_name, bool(node_name)) if isinstance(item, Path) else item
        flat = evaluate_parameter_dict(context, values)
        found += [RclpyParameter(name, value=_as_list(value)) for name, value in flat.items()]
    return found


def _as_list(value: Any) -> Any:
    if isinstance(value, bytes):
        return [bytes([number]) for number in value]
    return list(value) if isinstance(value, tuple) else value


def _of_file(path: Path, full_name: str, has_name: bool) -> Mapping[str, Any]:
    """Those for any node and those for this one; all of a file that names no nodes."""
    content = yaml.safe_load(path.read_text()) or {}
    sections = dict(_sections(content, ()))
    if not sections:
        return content
    if not has_name:
        warnings.warn(
            f"the node has no name in the launch: what {path} has for names does not reach it", stacklevel=3
        )
    return {**sections.get("**", {}), **sections.get(full_name, {})}


def _sections(content: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, value in content.items():
        if key == "ros__parameters":
            yield "/".join(keys), value or {}
        elif isinstance(value, Mapping):
            yield from _sections(value, (*keys, str(key).strip("/")))


# What `<param>` means.


def parse_parameters(params: list[Entity], parser: Parser) -> list[Any]:
    """The parameter files and dictionaries that tags stand for.

    Raises RuntimeError and ValueError for tags that say too little or too much, TypeError for bad values.
    """
    found: list[Any] = []
    for param in params:
        file = param.get_attr("from", optional=True)
        name = param.get_attr("name", optional=True)
        if (file is None) == (name is None):
            raise ValueError("`param` needs one of the attributes 'name' and 'from'")
        if file is not None:
            allowed = param.get_attr("allow_substs", data_type=bool, optional=True)
            allowed = parser.parse_substitution(allowed) if isinstance(allowed, str) else bool(allowed)
            found.append(ParameterFile(parser.parse_substitution(file), allow_substs=allowed))
            param.assert_entity_completely_parsed()
        else:
            found.append(_parse_named(param, parser))
    return found


def _parse_named(param: Entity, parser: Parser) -> dict[Any, Any]:
    if param.get_attr("allow_substs", optional=True) is not None:
        raise RuntimeError("'allow_substs' of `param` goes with 'from', not with 'name'")
    name = tuple(parser.parse_substitution(param.get_attr("name")))
    kind = param.get_attr("type", optional=True)
    nested = param.get_attr("param", data_type=List[Entity], optional=True)  # noqa: UP006
    if nested and kind is not None:
        raise RuntimeError("`param` with others inside it has no 'type' of its own")
    if nested:
        value: Any = {key: item for child in nested for key, item in _parse_named(child, parser).items()}
    else:
        value = _parse_value(param, parser, kind)
    param.assert_entity_completely_parsed()
    return {name: value}


def _parse_value(param: Entity, parser: Parser, kind: str | None) -> ParameterValue:
    data_type = None if kind is None else get_data_type_from_identifier(kind)
    separated = param.get_attr("value-sep", optional=True) is not None
    written = _written(param, separated)
    if not isinstance(written, list):
        return ParameterValue(parser.parse_substitution(written), value_type=data_type)
    item_type, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise TypeError(f"'value' of `param` is a list: its type is list_of_{kind}, not {kind}")
    if separated:
        return ParameterValue(_Separated(written, item_type, parser), value_type=data_type)
    return ParameterValue([parser.parse_if_substitutions(item) for item in written], value_type=data_type)


def _written(param: Entity, separated: bool) -> str | list[Any]:
    if separated:
        texts: list[Any] = param.get_attr("value", data_type=List[str])  # noqa: UP006
        return texts
    try:
        text: str = param.get_attr("value")
    except TypeError:  # a list, as YAML has them
        values: list[Any] = param.get_attr("value", data_type=None)
        return values
    return text


class _Separated(Substitution):
    """A text that is a list, as YAML: items are told apart before what is embedded in them is read."""

    def __init__(self, texts: list[str], item_type: object, parser: Parser) -> None:
        self._items = [parser.parse_substitution(text) for text in texts]
        self._item_type = item_type

    def perform(self, context: LaunchContext) -> str:
        texts = [perform_substitutions(context, item) for item in self._items]
        items: list[Any] = [text_to_value(text, self._item_type) for text in texts]
        kinds = {type(item) for item in items}
        if len(kinds) > 1 and kinds != {int, float}:
            items = list(texts)  # of no common type: they are texts
        text: str = yaml.safe_dump(items, default_flow_style=True, allow_unicode=True)
        return text
