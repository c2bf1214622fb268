"""Remappings as pairs of substitutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...launch.utilities import normalize_to_list_of_substitutions
from ..remap_rule_type import RemapRule


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
