"""What the `list`, `find` and `type` verbs of topics, services and actions print."""

from __future__ import annotations

from typing import Any

from ..rclpy.node import Node
from .node import is_hidden, wait_until
from .verbs import interface_class

NamesAndTypes = list[tuple[str, list[str]]]


def visible(found: NamesAndTypes, include_hidden: bool) -> NamesAndTypes:
    """In order, without the hidden ones unless they are wanted."""
    return [(name, types) for name, types in sorted(found) if include_hidden or not is_hidden(name)]


def print_names(found: NamesAndTypes, *, only_count: bool, show_types: bool) -> None:
    """A name a line, with its types where wanted, or how many there are."""
    if only_count:
        print(len(found))
        return
    for name, types in found:
        print(f"{name} [{', '.join(types)}]" if show_types else name)


def print_names_of_type(found: NamesAndTypes, wanted: str, *, only_count: bool) -> None:
    """The names of one type, a name a line, or how many there are."""
    print_names([item for item in found if wanted in item[1]], only_count=only_count, show_types=False)


def print_types(types: list[str] | None) -> int:
    """A type a line; the exit code, 1 where there is none."""
    for name in types or []:
        print(name)
    return 0 if types else 1


# Subscribing to topics whose type is found out.


def absolute_name(topic: str) -> str:
    """The name below the root."""
    return topic if topic.startswith(("/", "~")) else f"/{topic}"


def find_message_class(node: Node, topic: str, *, wait: bool = False) -> Any:
    """The class of a topic's messages, waiting for the topic to be discovered, with `wait` for as long as it
    takes.

    None where it is not. Raises RuntimeError for a topic with several types.
    """
    name = absolute_name(topic)

    def find() -> list[str] | None:
        return dict(node.get_topic_names_and_types()).get(name)

    types = wait_until(node, find, float("inf")) if wait else wait_until(node, find)
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(
            f"Cannot echo topic '{name}', as it contains more than one type: [{', '.join(types)}]"
        )
    return interface_class(types[0], "msg")
