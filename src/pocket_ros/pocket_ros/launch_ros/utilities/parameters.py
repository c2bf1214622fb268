"""Parameters of a node: files, dictionaries and single ones, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...launch.substitution import Substitution
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from .parameter_values import evaluate_value

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext
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
            _check_names(item)
            normalized.append(item)
        elif isinstance(item, Parameter | ParameterFile):
            normalized.append(item)
        elif isinstance(item, str | Substitution | PathLike | Iterable):
            normalized.append(ParameterFile(item))
        else:
            raise TypeError(f"expected a parameter file or a dictionary of parameters, got {item!r}")
    return tuple(normalized)


def _check_names(parameters: Mapping[Any, Any]) -> None:
    for name, value in parameters.items():
        normalize_to_list_of_substitutions(name)
        if isinstance(value, Mapping):
            _check_names(value)


def _flatten(context: LaunchContext, parameters: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in parameters.items():
        parts = normalize_to_list_of_substitutions(name)
        full = prefix + perform_substitutions(context, parts)
        if isinstance(value, Mapping):
            flat.update(_flatten(context, value, f"{full}."))
        else:
            flat[full] = evaluate_value(context, value)
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
) -> list[Any]:
    """Dictionaries as they are, files as dictionaries of the parameters they hold for the node."""
    import yaml

    found: list[Any] = []
    full_name = f"{namespace.rstrip('/')}/{node_name}"
    for item in evaluated_parameters:
        if not isinstance(item, Path):
            found.append(item)
            continue
        content = yaml.safe_load(item.read_text()) or {}
        for key in ("/**", node_name, full_name):
            if key in content:
                found.append(content[key].get("ros__parameters", {}))
    return found
