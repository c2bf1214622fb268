"""Extensions of YAML in configuration files: `!np` arithmetic, `!include` of another file, `!relpath` for a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings.expressions import Expression
from fleet_sim.settings.types import shown

MOST_INCLUDES = 20
"""Maximum depth of included files."""

Load = Callable[[Path, int], Any]


def with_tags(
    base: type[yaml.SafeLoader], path: Path, load: Load, *, depth: int = 0, values: Mapping[str, Any] | None = None
) -> type[yaml.SafeLoader]:
    """Return a loader like `base` for the file `path` that supports the tags; `load(path, depth)` reads another file.

    Paths are relative to the folder of `path`. `values` are names that arithmetic may use. What a mapping includes as
    `<<` are defaults of its keys.
    """

    class TaggedLoader(base):  # type: ignore[misc,valid-type]  # a class for each file: YAML keeps constructors on it
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            merged = _take_includes(node)
            own: dict[Any, Any] = super().construct_mapping(node, deep)
            # The first of several counts, as YAML has it, and what the mapping says itself wins over all of them.
            for other in merged:
                own = {**_checked_defaults(other, include(self, other)), **own}
            return own

    def include(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        if depth >= MOST_INCLUDES:
            raise ConfigError(f"files include each other more than {MOST_INCLUDES} deep; is one including itself?")
        return load(path.parent / _text(node, "!include FILE"), depth + 1)

    def relpath(loader: yaml.SafeLoader, node: yaml.Node) -> str:
        return str(path.parent / _text(node, "!relpath FILE"))

    def arithmetic(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        # Of a list, each item: `!np [pi / 2, 1e-2]`.
        if isinstance(node, yaml.SequenceNode):
            return [arithmetic(loader, item) for item in node.value]
        try:
            return Expression(_text(node, "!np pi / 2")).value(values)
        except InvalidValueError as error:
            raise ConfigError(f"line {node.start_mark.line + 1}: {error}") from error

    for tag, construct in (("!include", include), ("!relpath", relpath), ("!np", arithmetic)):
        TaggedLoader.add_constructor(tag, construct)
    return TaggedLoader


def _checked_defaults(node: yaml.Node, found: Any) -> dict[Any, Any]:
    if not isinstance(found, dict):
        line = node.start_mark.line + 1
        raise ConfigError(f"line {line}: <<: !include needs a file with a mapping, got {shown(found)}")
    return found


def _take_includes(node: yaml.MappingNode) -> list[yaml.Node]:
    """Take the files that are included as `<<` out of a mapping and return them, in their order."""
    taken: list[yaml.Node] = []
    for key, value in list(node.value):
        if key.tag != "tag:yaml.org,2002:merge":
            continue
        if value.tag == "!include":
            node.value.remove((key, value))
            taken.append(value)
        elif isinstance(value, yaml.SequenceNode):
            included = [item for item in value.value if item.tag == "!include"]
            value.value = [item for item in value.value if item.tag != "!include"]
            taken += included
    return taken


def _text(node: yaml.Node, example: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"line {node.start_mark.line + 1}: {node.tag} takes one text, as in {example}")
    return str(node.value)
