"""What the shell is offered for the arguments of `ros2`: topics, services and actions have them alike."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from .ros2cli.listing import NamesAndTypes
from .ros2cli.node.strategy import NodeStrategy
from .ros2interface.api import interface_to_yaml


def type_names(interfaces: Mapping[str, Iterable[str]]) -> list[str]:
    """The full names of types that are listed by package."""
    return [f"{package}/{name}" for package, names in interfaces.items() for name in names]


class NameCompleter:
    """Base of the completers of names; `hidden_key` is the argument that asks for hidden ones too."""

    def __init__(self, hidden_key: str | None) -> None:
        self._hidden_key = hidden_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        hidden = bool(self._hidden_key and getattr(parsed_args, self._hidden_key, False))
        with NodeStrategy(parsed_args) as node:
            return self._names(node, hidden)

    def _names(self, node: Any, hidden: bool) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__} says which names there are")


class TypeCompleter:
    """Base of the completers of types: those of the thing that the argument `name_key` names, or all."""

    def __init__(self, name_key: str | None) -> None:
        self._name_key = name_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        if self._name_key is None:
            return self._types()
        with NodeStrategy(parsed_args) as node:
            names = dict(self._names_and_types(node))
        return names.get(getattr(parsed_args, self._name_key), [])

    def _types(self) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__} says which types are installed")

    def _names_and_types(self, node: Any) -> NamesAndTypes:
        raise NotImplementedError(f"{type(self).__name__} says which types the names have")


class PrototypeCompleter:
    """Base of the completers of content: all defaults of the type that the argument `type_key` names."""

    def __init__(self, type_key: str | None) -> None:
        self._type_key = type_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        return [interface_to_yaml(getattr(parsed_args, self._type_key or ""))]
