"""World files: YAML with `!include`, `!relpath` and `!np` besides what any configuration may hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings import StrictLoader, load_mapping
from fleet_sim.swarm.expressions import Expression

MOST_INCLUDES = 20
"""How deep files may include each other."""


def load_world(path: str | Path, **values: Any) -> dict[str, Any]:
    """Return the world in the YAML file `path`: the whole file, or its section `swarm`.

    `!np TEXT` is arithmetic, `!include FILE` another YAML file, `!relpath FILE` a path, both relative to the file they
    are in. `values` are names that `!np` may use. Raises ConfigError naming the file.
    """
    config = load_config(path, **values)
    section = config.get("swarm", config)
    if not isinstance(section, dict):
        raise ConfigError(f"must be a mapping, got {section!r}", source=str(path), path="swarm")
    return section


def load_config(path: str | Path, **values: Any) -> dict[str, Any]:
    """Return the mapping in the YAML file `path`, with the tags of world files."""
    return load_mapping(path, loader=_loader(Path(path), values, 0))


def _loader(path: Path, values: Mapping[str, Any], depth: int) -> type[yaml.SafeLoader]:
    """Return a loader that knows which file it reads."""

    class Loader(StrictLoader):
        pass

    def include(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        if depth >= MOST_INCLUDES:
            raise ConfigError(f"files include each other more than {MOST_INCLUDES} deep; is one including itself?")
        other = path.parent / _text(node, "!include FILE")
        return load_mapping(other, loader=_loader(other, values, depth + 1))

    def relpath(loader: yaml.SafeLoader, node: yaml.Node) -> str:
        return str(path.parent / _text(node, "!relpath FILE"))

    def arithmetic(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        try:
            return Expression(_text(node, "!np pi / 2")).value(values)
        except InvalidValueError as error:
            raise ConfigError(f"line {node.start_mark.line + 1}: {error}") from error

    for tag, construct in (("!include", include), ("!relpath", relpath), ("!np", arithmetic)):
        Loader.add_constructor(tag, construct)
    return Loader


def _text(node: yaml.Node, example: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"line {node.start_mark.line + 1}: {node.tag} takes one text, as in {example}")
    return str(node.value)
