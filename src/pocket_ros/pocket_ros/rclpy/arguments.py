"""The `--ros-args` of a command line: remappings, parameters, log levels.

`--ros-args -r from:=to -p name:=value --params-file file.yaml --log-level [logger:=]level -e enclave --`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .exceptions import InvalidROSArgsError, UnknownROSArgsError
from .logging import LoggingSeverity

_FLAGS_WITHOUT_VALUE = {
    "--disable-stdout-logs",
    "--enable-stdout-logs",
    "--disable-rosout-logs",
    "--enable-rosout-logs",
    "--disable-external-lib-logs",
    "--enable-external-lib-logs",
}
_FLAGS_WITH_VALUE = {
    "-r": "remap",
    "--remap": "remap",
    "-p": "param",
    "--param": "param",
    "--params-file": "file",
    "--log-level": "level",
    "--log-config-file": "log_config",
    "--log-file-name": "log_file",
    "-e": "enclave",
    "--enclave": "enclave",
}


@dataclass(frozen=True)
class Remap:
    """One rule: for nodes named `node` (any where empty), `source` becomes `target`."""

    node: str
    source: str
    target: str


@dataclass
class RosArguments:
    """What `--ros-args` said, in order."""

    remaps: list[Remap] = field(default_factory=list)
    parameters: list[tuple[str, str, Any]] = field(default_factory=list)  # node pattern, name, value
    log_levels: list[tuple[str, int]] = field(default_factory=list)
    enclave: str = "/"
    rosout: bool = True
    console: bool = True

    def node_name(self, name: str) -> str:
        """The node's name after `__node` remappings."""
        return self._special(("__node", "__name"), name, name)

    def namespace(self, name: str, namespace: str) -> str:
        """The node's namespace after `__ns` remappings."""
        return self._special(("__ns",), name, namespace)

    def remap(self, full_name: str, node: str, expand: Any, kind: str) -> str:
        """A topic (`rostopic`) or service (`rosservice`) name after the first rule that fits.

        `expand` makes the absolute name of the sides of a rule.
        """
        for rule in self.remaps:
            if rule.source.startswith("__") or (rule.node and rule.node != node):
                continue
            source = rule.source
            if "://" in source:
                scheme, source = source.split("://", 1)
                if scheme != kind:
                    continue
            if expand(source) == full_name:
                return str(expand(rule.target))
        return full_name

    def overrides(self, full_node_name: str) -> dict[str, Any]:
        """Parameter name to value for a node; later arguments win."""
        values: dict[str, Any] = {}
        for pattern, name, value in self.parameters:
            if node_matches(pattern, full_node_name):
                values[name] = value
        return values

    def _special(self, names: tuple[str, ...], node: str, current: str) -> str:
        for rule in self.remaps:
            if rule.source in names and rule.node in ("", node):
                return rule.target
        return current


def node_matches(pattern: str, full_name: str) -> bool:
    """Whether a node pattern of a parameter file (`/**`, `/ns/*`, `node`) fits `/ns/node`.

    Without a leading slash it stands below the root: `node` is `/node`, not `/ns/node`.
    """
    if pattern in ("", "/**"):
        return True
    pattern = f"/{pattern.removeprefix('/')}"
    regex = "".join(
        "(?:/[^/]+)*" if part == "/**" else "[^/]+" if part == "*" else re.escape(part)
        for part in re.split(r"(/\*\*|\*)", pattern)
    )
    return re.fullmatch(regex, full_name) is not None


def split_arguments(args: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The arguments that are not ROS's, and the ROS sections without their `--ros-args` and `--`."""
    rest: list[str] = []
    sections: list[list[str]] = []
    inside = False
    for argument in args:
        if argument == "--ros-args":
            inside = True
            sections.append([])
        elif inside and argument == "--":
            inside = False
        else:
            (sections[-1] if inside else rest).append(argument)
    return rest, sections


def parse_arguments(args: Iterable[str] | None) -> RosArguments:
    """What the ROS sections of `args` say.

    Raises UnknownROSArgsError and InvalidROSArgsError.
    """
    result = RosArguments()
    _, sections = split_arguments(list(args or []))
    for section in sections:
        words = iter(section)
        for flag in words:
            _parse_flag(flag, words, result)
    return result


def _parse_flag(flag: str, words: Any, result: RosArguments) -> None:
    if flag in _FLAGS_WITHOUT_VALUE:
        if flag.endswith("rosout-logs"):
            result.rosout = flag.startswith("--enable")
        elif flag.endswith("stdout-logs"):
            result.console = flag.startswith("--enable")
        return
    if flag not in _FLAGS_WITH_VALUE:
        raise UnknownROSArgsError(
            f"Found unknown ROS arguments: {[flag]}; known are {sorted(_FLAGS_WITH_VALUE)}"
        )
    value = next(words, None)
    if value is None:
        raise InvalidROSArgsError(f"Couldn't parse trailing {flag} flag: no value found")
    kind = _FLAGS_WITH_VALUE[flag]
    if kind == "remap":
        result.remaps.append(_parse_remap(value))
    elif kind == "param":
        result.parameters.append(_parse_parameter(value))
    elif kind == "file":
        result.parameters += read_parameter_file(value)
    elif kind == "level":
        result.log_levels.append(_parse_level(value))
    elif kind == "enclave":
        result.enclave = value


def _parse_remap(text: str) -> Remap:
    source, separator, target = text.partition(":=")
    if not separator or not source or not target:
        raise InvalidROSArgsError(f"Couldn't parse remap rule '-r {text}'; it has the form from:=to")
    node, colon, rest = source.partition(":")
    if colon and not rest.startswith("//"):
        return Remap(node, rest, target)
    return Remap("", source, target)


def _parse_parameter(text: str) -> tuple[str, str, Any]:
    name, separator, value = text.partition(":=")
    if not separator or not name:
        raise InvalidROSArgsError(
            f"Couldn't parse parameter override '-p {text}'; it has the form name:=value"
        )
    node, colon, rest = name.partition(":")
    from .parameter import UNREADABLE, load

    try:
        parsed = _check_value(load(value))
    except UNREADABLE as error:
        raise InvalidROSArgsError(f"Couldn't parse the value of '-p {text}': {error}") from error
    if parsed is None:
        parsed = value
    return (node, rest, parsed) if colon else ("", name, parsed)


def _check_value(value: Any) -> Any:
    """`value`, if a parameter can have it. Raises TypeError."""
    from .parameter import Parameter

    Parameter.Type.from_parameter_value(value)
    return value


def _parse_level(text: str) -> tuple[str, int]:
    name, separator, level = text.rpartition(":=")
    try:
        return (name if separator else ""), int(LoggingSeverity[level.upper()])
    except KeyError:
        allowed = ", ".join(LoggingSeverity.__members__)
        raise InvalidROSArgsError(f"Couldn't parse log level '{level}'; it can be {allowed}") from None


def read_parameter_file(path: str) -> list[tuple[str, str, Any]]:
    """Node pattern, parameter name and value for each entry of a parameter file.

    Raises InvalidROSArgsError for files that cannot be read or have another form.
    """
    from .parameter import UNREADABLE, load

    try:
        text = Path(path).read_text(encoding="utf-8")
        content = load(text)
    except (OSError, *UNREADABLE) as error:
        raise InvalidROSArgsError(f"Couldn't parse params file '{path}': {error}") from error
    found: list[tuple[str, str, Any]] = []
    if all(line.lstrip()[:1] in ("", "#") for line in text.splitlines()):
        return found
    if not isinstance(content, dict):
        raise InvalidROSArgsError(f"Couldn't parse params file '{path}': it does not start with a node name")
    _collect_nodes("", content, found, path)
    return found


def _collect_nodes(
    prefix: str, content: dict[str, Any], found: list[tuple[str, str, Any]], path: str
) -> None:
    from .parameter import flatten

    for key, value in content.items():
        if not isinstance(value, dict):
            raise InvalidROSArgsError(
                f"Couldn't parse params file '{path}': '{prefix}{key}' has no 'ros__parameters'"
            )
        pattern = f"{prefix}{key}" if not prefix or prefix.endswith("/") else f"{prefix}/{key}"
        for inner, entries in value.items():
            if inner == "ros__parameters":
                if not isinstance(entries, dict):
                    raise InvalidROSArgsError(
                        f"Couldn't parse params file '{path}': the parameters of '{pattern}' have no names"
                    )
                try:
                    found += [(pattern, name, _check_value(v)) for name, v in flatten(entries)]
                except TypeError as error:
                    raise InvalidROSArgsError(f"Couldn't parse params file '{path}': {error}") from error
            else:
                _collect_nodes(pattern, {inner: entries}, found, path)
