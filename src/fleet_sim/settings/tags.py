"""Extensions of YAML in configuration files: `!np` arithmetic, `!include` of another file, `!relpath` for a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings.expressions import Expression

MOST_INCLUDES = 20
"""Maximum depth of included files."""

Load = Callable[[Path, int], Any]


def with_tags(
    base: type[yaml.SafeLoader], path: Path, load: Load, *, depth: int = 0, values: Mapping[str, Any] | None = None
) -> type[yaml.SafeLoader]:
    """Return a loader like `base` for the file `path` that supports the tags; `load(path, depth)` reads another file.

    Paths are relative to the folder of `path`. `values` are names that arithmetic may use.
    """

    def include(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        if depth >= MOST_INCLUDES:
            raise ConfigError(f"files include each other more than {MOST_INCLUDES} deep; is one including itself?")
        return load(path.parent / _text(node, "!include FILE"), depth + 1)

    def relpath(loader: yaml.SafeLoader, node: yaml.Node) -> str:
        return str(path.parent / _text(node, "!relpath FILE"))

    def arithmetic(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        try:
            return Expression(_text(node, "!np pi / 2")).value(values)
        except InvalidValueError as error:
            raise ConfigError(f"line {node.start_mark.line + 1}: {error}") from error

    # A class for each file: YAML registers constructors on the class, and these know their file.
    tagged: type[yaml.SafeLoader] = type("TaggedLoader", (base,), {})
    for tag, construct in (("!include", include), ("!relpath", relpath), ("!np", arithmetic)):
        tagged.add_constructor(tag, construct)
    return tagged


def _text(node: yaml.Node, example: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"line {node.start_mark.line + 1}: {node.tag} takes one text, as in {example}")
    return str(node.value)
