"""Parameters of a node: files, dictionaries and single ones, in order."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ...launch.substitution import Substitution
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from .parameter_values import ParameterValue, check_value, evaluate_value

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext
    from ...rclpy.parameter import Parameter as RclpyParameter
    from ..parameter_descriptions import ParameterFile

Evaluated = Path | dict[str, Any]


def normalize_parameters(parameters: Any) -> tuple[Any, ...]:
    """Files become ParameterFile; dictionaries and Parameter stay. Raises TypeError for anything else."""
    from ..parameter_descriptions import Parameter, ParameterFile

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
    from ..parameter_descriptions import Parameter

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
    from ...rclpy.parameter import Parameter as RclpyParameter

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
