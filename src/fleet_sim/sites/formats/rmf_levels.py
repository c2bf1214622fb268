"""Levels of files of Open-RMF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def levels_of(content: Any) -> list[Mapping[str, Any]]:
    """Return the levels of a file that may be anything; none where there are no mappings."""
    levels = content.get("levels") if isinstance(content, Mapping) else None
    return [level for level in levels.values() if isinstance(level, Mapping)] if isinstance(levels, Mapping) else []


def names_elsewhere(content: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the named vertices on other levels than `name`, and on which each is.

    What is wrong on those levels is said when they are read.
    """
    found: dict[str, str] = {}
    for level, entry in content["levels"].items():
        vertices = entry.get("vertices") if isinstance(entry, Mapping) and level != name else None
        for vertex in vertices if isinstance(vertices, list) else []:
            # Buildings have the name after x, y and z, graphs among the properties.
            given = vertex[2:] if isinstance(vertex, list) else []
            names = [part.get("name") if isinstance(part, Mapping) else part for part in given]
            found.update({text: str(level) for text in names if isinstance(text, str) and text})
    return found
