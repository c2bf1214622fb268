"""The topics that are looked at."""

from __future__ import annotations

from collections.abc import Sequence

from ...ros2cli.node.strategy import NodeStrategy


def get_topic_names(skip_topics: Sequence[str] = ()) -> list[str]:
    """All topics but those to skip."""
    with NodeStrategy(None) as node:
        return [name for name, _ in node.get_topic_names_and_types() if name not in skip_topics]
