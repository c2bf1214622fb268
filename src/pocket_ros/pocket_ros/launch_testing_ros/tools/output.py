"""Filters for lines that a middleware writes between those of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...ament_index_python import get_resource, has_resource
from ...launch_testing.tools import basic_output_filter as filter_output
from ...launch_testing.tools.output import get_default_filtered_patterns, get_default_filtered_prefixes

_KINDS = ("prefixes", "patterns")


def get_rmw_output_filter(rmw_implementation: str, filter_type: str) -> list[str]:
    """The prefixes or patterns that a middleware has put into the ament index; none where it has not.

    Raises TypeError for another kind of filter.
    """
    if filter_type not in _KINDS:
        raise TypeError(f"filter_type must be one of {', '.join(_KINDS)}, got '{filter_type}'")
    kind = f"rmw_output_{filter_type}"
    if not has_resource(kind, rmw_implementation):
        return []
    return get_resource(kind, rmw_implementation)[0].splitlines()


def basic_output_filter(
    filtered_prefixes: Iterable[str] | None = None,
    filtered_patterns: Iterable[str] | None = None,
    filtered_rmw_implementation: str | None = None,
) -> Callable[[str], str]:
    """That of launch_testing, which also removes the lines of a middleware."""
    prefixes = list(get_default_filtered_prefixes() if filtered_prefixes is None else filtered_prefixes)
    patterns = list(get_default_filtered_patterns() if filtered_patterns is None else filtered_patterns)
    if filtered_rmw_implementation:
        prefixes += get_rmw_output_filter(filtered_rmw_implementation, "prefixes")
        patterns += get_rmw_output_filter(filtered_rmw_implementation, "patterns")
    return filter_output(prefixes, patterns)
