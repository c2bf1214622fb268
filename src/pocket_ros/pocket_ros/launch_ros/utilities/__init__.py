"""Helpers for namespaces, names, remappings and parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...launch.description import SomeSubstitutionsType, Substitution
from ...launch.utilities import normalize_to_list_of_substitutions
from ...places import offer_places
from ..parameter_descriptions import (
    evaluate_parameter_dict,
    evaluate_parameters,
    normalize_parameter_dict,
    normalize_parameters,
    to_parameters_list,
)

if TYPE_CHECKING:
    from ...launch.description import LaunchContext


# Namespaces as text.


def is_root_namespace(ns: str) -> bool:
    """Whether it is `/`."""
    return ns == "/"


def is_namespace_absolute(ns: str) -> bool:
    """Whether it begins with `/`."""
    return ns.startswith("/")


def make_namespace_absolute(ns: str) -> str:
    """The namespace below the root."""
    return ns if is_namespace_absolute(ns) else f"/{ns}"


def prefix_namespace(base_ns: str | None = None, ns: str | None = None) -> str | None:
    """A namespace inside another; an absolute one stands alone, None leaves the other as it is."""
    if ns is None:
        return base_ns
    if base_ns is None or not base_ns or is_namespace_absolute(ns):
        combined = ns
    elif not ns:
        combined = base_ns
    else:
        combined = f"{base_ns.rstrip('/')}/{ns}"
    return combined.rstrip("/") if combined != "/" else combined


# Types of remappings, as they are given and as they are kept.


SomeRemapRule = tuple[SomeSubstitutionsType, SomeSubstitutionsType]
SomeRemapRules = Iterable[SomeRemapRule]
RemapRule = tuple[tuple[Substitution, ...], tuple[Substitution, ...]]
RemapRules = Iterable[RemapRule]


# Remappings as pairs of substitutions.


def normalize_remap_rule(remap_rule: Any) -> RemapRule:
    """A pair of names. Raises TypeError for anything else."""
    if not isinstance(remap_rule, tuple) or len(remap_rule) != 2:
        raise TypeError(f"expected a remapping as a pair ('from', 'to'), got {remap_rule!r}")
    source, target = remap_rule
    return tuple(normalize_to_list_of_substitutions(source)), tuple(
        normalize_to_list_of_substitutions(target)
    )


def normalize_remap_rules(remap_rules: Iterable[Any]) -> Iterator[RemapRule]:
    """Several of them."""
    yield from map(normalize_remap_rule, remap_rules)


# How often a name was given to a node in a launch.


_GLOBAL = "unique_ros_node_names"


def add_node_name(context: LaunchContext, node_name: str) -> None:
    """Count a node of this name."""
    counts = context.get_locals_as_dict().get(_GLOBAL)
    if counts is None:
        counts = Counter[str]()
        context.extend_globals({_GLOBAL: counts})
    counts[node_name] += 1


def get_node_name_count(context: LaunchContext, node_name: str) -> int:
    """How many nodes of this name were counted."""
    counts: Counter[str] = context.get_locals_as_dict().get(_GLOBAL, Counter())
    return counts[node_name]


evaluate_parameters_dict = evaluate_parameter_dict
normalize_parameters_dict = normalize_parameter_dict

__all__ = [
    "add_node_name",
    "evaluate_parameters",
    "evaluate_parameters_dict",
    "get_node_name_count",
    "is_namespace_absolute",
    "is_root_namespace",
    "make_namespace_absolute",
    "normalize_parameters",
    "normalize_parameters_dict",
    "normalize_remap_rule",
    "normalize_remap_rules",
    "prefix_namespace",
    "to_parameters_list",
]

offer_places(__name__)
