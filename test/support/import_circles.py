"""Circles in the imports of a package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The largest sets of nodes in which each can be reached from each."""

    @cache
    def reached(start: str) -> frozenset[str]:
        seen, waiting = set(), [start]
        while waiting:
            for name in graph[waiting.pop()]:
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return frozenset(seen)

    found = {frozenset(other for other in reached(name) if name in reached(other)) for name in graph}
    return [set(circle) for circle in found if circle]
