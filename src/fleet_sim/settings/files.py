"""Loads YAML files as mappings: rejects duplicate keys; errors name file and line."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from fleet_sim.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.gate.data import MOST_IN_FILE, MOST_REMOTE, check_nodes, check_text
from fleet_sim.settings.tags import with_tags
from fleet_sim.settings.types import shown

LARGEST_FILE = 64 * 2**20
"""Bytes of a configuration."""
MOST_FILES = 1000
"""Read for one configuration, counted each time they are included."""


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses duplicate keys and reads 1e-3 as a number, as YAML 1.2 and JSON do.

    What stands for more than `most` values is refused before any of them is made.
    """

    most = MOST_IN_FILE

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None:
            check_nodes(node, self.most)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[object, int] = {}
        for key_node, _ in node.value:
            # A merge key (`<<`) brings defaults, whose keys may be given again.
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key, line = self.construct_object(key_node), key_node.start_mark.line + 1
            if key in seen:
                raise ConfigError(
                    f"line {line}: the key {key!r} is already given in line {seen[key]}; keep one of them"
                )
            seen[key] = line
        return super().construct_mapping(node, deep)


def _refuse_templates(text: str, source: str) -> None:
    """Refuse lines of Jinja templates, which YAML takes for comments and texts; raises ConfigError with the line."""
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.split("#", 1)[0]
        statement = line.lstrip().startswith("#%")
        if statement or any(end in code.partition(begin)[2] for begin, end in (("<{", "}>"), ("<%", "%>"))):
            what = "a statement" if statement else "an expression"
            raise ConfigError(
                f"line {number}: {shown(line.strip())} is {what} of a Jinja template, and files here are plain YAML;"
                " write the value, `!np pi / 4` for arithmetic, or set it in Python in the mapping of the world",
                source=source,
            )


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


class _RemoteLoader(_Loader):
    """For texts in messages."""

    most = MOST_REMOTE


def load_mapping(path: str | Path, *, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the mapping in the YAML file `path`; see `tags` for the supported extensions of YAML.

    `values` are names that arithmetic in it may use. Raises ConfigError naming the file if it is missing (with the
    closest name in its folder), not readable, not YAML (with line and column), a template (`#%>`, `<{ }>`), has a key
    twice, or is not a mapping.
    """
    data = _load(Path(path), values, 0, [])
    if data is None:
        raise ConfigError("is empty; expected a mapping of keys to values", source=str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"expected a mapping of keys to values, got {shown(data)}", source=str(path))
    return data


def _load(file: Path, values: Mapping[str, Any] | None, depth: int, read: list[Path]) -> Any:
    """Return what is in the YAML file `file`, included by `depth` others, after those in `read`."""
    read.append(file)
    if len(read) > MOST_FILES:
        raise ConfigError(f"more than {MOST_FILES} files are included; do files include each other twice?")
    try:
        status = file.stat()
        # Reading a pipe or a device may never end.
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError("cannot be read: it is no file", source=str(file))
        if status.st_size > LARGEST_FILE:
            raise ConfigError(f"has {status.st_size} bytes, at most {LARGEST_FILE} are read", source=str(file))
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        _fail_missing(file)
    except UnicodeDecodeError as error:
        raise ConfigError(f"must be text in UTF-8: {error}", source=str(file)) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=str(file)) from error
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"is no name of a file: {error}", source=repr(str(file))) from error
    _refuse_templates(text, str(file))
    loader = with_tags(
        _Loader, file, lambda other, level: _load(other, values, level, read), depth=depth, values=values
    )
    return _parse(text, str(file), loader)


def parse_value(text: str) -> Any:
    """Return one value written as in a file: `0.5`, `true`, `[1, 2]`; raises ConfigError if not YAML."""
    return _parse(text, "", _Loader)


def parse_remote(text: str, what: str) -> Any:
    """Return the YAML value in a text of a message; raises InvalidValueError naming `what`, also for one too large."""
    try:
        return _parse(check_text(text, what), "", _RemoteLoader)
    except ConfigError as error:
        raise InvalidValueError(f"{what}: {error}") from error


def set_key(data: dict[str, Any], dotted: str, value: object) -> None:
    """Set `value` at the key path `dotted` in `data`, creating sections; raises ConfigError if a section is a value."""
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
    except InvalidValueError as error:
        raise ConfigError(str(error), source=source) from error
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        # PyYAML lets through what Python's int, float, date, ... raise for `!!int abc` or 2001-99-99.
        raise ConfigError(f"not valid YAML: {type(error).__name__}: {str(error)[:200]}", source=source) from error


def _fail_missing(file: Path) -> NoReturn:
    if not file.parent.is_dir():
        raise ConfigError(f"there is no such file: the folder {str(file.parent)!r} does not exist", source=str(file))
    names = [entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    raise ConfigError(f"there is no such file.{did_you_mean(file.name, names)}", source=str(file))
