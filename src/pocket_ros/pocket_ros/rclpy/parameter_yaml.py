"""YAML as ROS reads it in parameter files and in `-p name:=value`.

Words are booleans, integers and floats by the rules of the C library rather than those of YAML: `1e-3` is a
float, `y` a boolean, `1_000` and `2026-01-02` are strings. Keys are always text.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_PLAIN = "!plain"
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\.?(?:inf|nan)|infinity)", re.IGNORECASE)

UNREADABLE = (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError)
"""What `load` and checks of values raise; beyond YAMLError for tags such as !!int, and for huge numbers."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[Any, Any] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a name", key.start_mark)
        found: dict[Any, Any] = {}
        for key, value in node.value:
            _merge(found, {key.value: self.construct_object(value, deep=True)})
        return found


def _merge(target: dict[Any, Any], more: dict[Any, Any]) -> None:
    """Add entries; a section that is there already is added to, as ROS does with a node named twice."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


_Loader.add_implicit_resolver(_PLAIN, re.compile(""), None)
_Loader.add_constructor(_PLAIN, lambda loader, node: scalar(node.value))


def load(text: str) -> Any:
    """The content of a document. Raises yaml.YAMLError for what is none."""
    return yaml.load(text, Loader=_Loader)


def load_sections(text: str) -> Any:
    """The content of a document by the rules of YAML, sections with the same name joined.

    Raises yaml.YAMLError for what is none.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        return None if root is None else loader.construct_document(_join_sections(root))
    finally:
        loader.dispose()


def _join_sections(node: Any) -> Any:
    """Of sections with the same name PyYAML would keep the last one, and say nothing."""
    if not isinstance(node, yaml.MappingNode):
        return node
    pairs: list[tuple[Any, Any]] = []
    places: dict[str, int] = {}
    for key, value in node.value:
        place = places.get(key.value) if isinstance(key, yaml.ScalarNode) else None
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.MappingNode):
            places.setdefault(key.value, len(pairs))
        if place is None or not isinstance(value, yaml.MappingNode) or key.value == "<<":
            pairs.append((key, value))
        else:
            first = pairs[place][1]
            # A new node, for an anchor may stand for the first one elsewhere too.
            pairs[place] = (key, yaml.MappingNode(first.tag, first.value + value.value))
    return yaml.MappingNode(node.tag, [(key, _join_sections(value)) for key, value in pairs])


def scalar(text: str) -> bool | int | float | str | None:
    """What a word without quotes means; integers beyond 64 bits are floats."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        octal = digits.startswith("0") and digits.isdigit()
        value = int(text, 8 if octal else 0)
        return value if -(2**63) <= value < 2**63 else float(value)
    if _FLOAT.fullmatch(text):
        special = text.lower().lstrip("+-").startswith((".i", ".n"))
        return float(text.replace(".", "") if special else text)
    return text


def flatten(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested parameter values as dotted names."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            flat += flatten(value, f"{prefix}{key}.")
        else:
            flat.append((f"{prefix}{key}", value))
    return flat
