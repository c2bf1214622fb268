"""YAML files as mappings: duplicate keys refused, errors with file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from fleet_sim.errors import ConfigError, did_you_mean
from fleet_sim.settings.tags import with_tags
from fleet_sim.settings.types import shown


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses duplicate keys and reads 1e-3 as a number, as YAML 1.2 and JSON do."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[object, int] = {}
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key, line = self.construct_object(key_node), key_node.start_mark.line + 1
            if key in seen:
                raise ConfigError(
                    f"line {line}: the key {key!r} is already given in line {seen[key]}; keep one of them"
                )
            seen[key] = line
        return super().construct_mapping(node, deep)


_TEMPLATES = ((re.compile(r"\s*#%"), "a statement"), (re.compile(r"[^#]*<([{%]).*[}%]>"), "an expression"))
"""Lines of the templates that worlds of other simulators are written in, which YAML takes for comments and texts."""


def _refuse_templates(text: str, source: str) -> None:
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, what in _TEMPLATES:
            if pattern.match(line):
                raise ConfigError(
                    f"line {number}: {line.strip()!r} is {what} of a Jinja template, and files here are plain YAML;"
                    " write the value, `!np pi / 4` for arithmetic, or set it in Python in the mapping of the world",
                    source=source,
                )


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def load_mapping(path: str | Path, *, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the mapping in the YAML file `path`; see `tags` for what it may say beyond YAML.

    `values` are names that arithmetic in it may use. Raises ConfigError naming the file: it is missing (with the
    closest name in its folder), not readable, not YAML (with line and column), a template (`#%>`, `<{ }>`), has a key
    twice, or is not a mapping.
    """
    data = _load(Path(path), values, 0)
    if data is None:
        raise ConfigError("is empty; expected a mapping of keys to values", source=str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"expected a mapping of keys to values, got {shown(data)}", source=str(path))
    return data


def _load(file: Path, values: Mapping[str, Any] | None, depth: int) -> Any:
    """Return what is in the YAML file `file`, included by `depth` others."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        _fail_missing(file)
    except UnicodeDecodeError as error:
        raise ConfigError(f"must be text in UTF-8: {error}", source=str(file)) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=str(file)) from error
    _refuse_templates(text, str(file))
    loader = with_tags(_Loader, file, lambda other, level: _load(other, values, level), depth=depth, values=values)
    return _parse(text, str(file), loader)


def parse_value(text: str) -> Any:
    """Return one value written as in a file: `0.5`, `true`, `[1, 2]`; raises ConfigError if not YAML."""
    return _parse(text, "", _Loader)


def set_key(data: dict[str, Any], dotted: str, value: object) -> None:
    """Put `value` at the key path in `data`, creating sections; raises ConfigError where it has a value."""
    *sections, last = dotted.split(".")
    if not last or not all(sections):
        raise ConfigError(f"expected a key path such as simulation.seed, got {dotted!r}")
    for depth, name in enumerate(sections, start=1):
        inner = data.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ConfigError(
                f"holds {shown(inner)}, so {dotted!r} cannot be set inside it",
                path=".".join(sections[:depth]),
            )
        data = inner
    data[last] = value


def _parse(text: str, source: str, loader: type[yaml.SafeLoader]) -> Any:
    try:
        return yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{place}not valid YAML: {error.problem or error.context}", source=source) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}", source=source) from error
    except RecursionError as error:
        raise ConfigError("is nested too deep", source=source) from error
    except ConfigError as error:
        raise error.within(source=source) from error


def _fail_missing(file: Path) -> NoReturn:
    if not file.parent.is_dir():
        raise ConfigError(f"there is no such file: the folder {str(file.parent)!r} does not exist", source=str(file))
    names = [entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    raise ConfigError(f"there is no such file.{did_you_mean(file.name, names)}", source=str(file))
