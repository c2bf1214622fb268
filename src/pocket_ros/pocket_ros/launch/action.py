"""An intention of a launch description."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .description import Condition, LaunchDescriptionEntity
from .events import ExecutionComplete

if TYPE_CHECKING:
    from .description import LaunchContext
    from .frontend.parser import Entity, Parser

Parsed = tuple[type["Action"], dict[str, Any]]
"""What a tag stands for: a class, and the arguments to make it of."""


class Action(LaunchDescriptionEntity):
    """Base of all actions: `execute` runs it, unless a condition says otherwise."""

    def __init__(self, *, condition: Condition | None = None) -> None:
        self._condition = condition

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """The condition that `if` and `unless` say; derived classes add what else their tag says.

        Raises RuntimeError where both are given.
        """
        from .conditions import IfCondition, UnlessCondition

        when = entity.get_attr("if", optional=True)
        unless = entity.get_attr("unless", optional=True)
        if when is not None and unless is not None:
            raise RuntimeError(f"<{entity.type_name}> has both 'if' and 'unless'; nest it in a <group>")
        if when is not None:
            return cls, {"condition": IfCondition(parser.parse_substitution(when))}
        if unless is not None:
            return cls, {"condition": UnlessCondition(parser.parse_substitution(unless))}
        return cls, {}

    @property
    def condition(self) -> Condition | None:
        return self._condition

    def describe(self) -> str:
        return f"{type(self).__name__}({id(self):#x})"

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Entities the action holds."""
        return []

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        return self.get_sub_entities() if self._condition is None else []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        if self._condition is None:
            return []
        return [("Conditionally included by " + self.describe(), self.get_sub_entities())]

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Execute unless the condition is false; `ExecutionComplete` follows where somebody handles it."""
        if self._condition is not None and not self._condition.evaluate(context):
            return None
        try:
            return self.execute(context)
        finally:
            self._announce_completion(context)

    def _announce_completion(self, context: LaunchContext) -> None:
        event = ExecutionComplete(action=self)
        if not context.would_handle_event(event):
            return
        future = self.get_asyncio_future()
        if future is None:
            context.emit_event_sync(event)
        else:
            done: asyncio.Future[Any] = future
            done.add_done_callback(lambda _: context.emit_event_sync(event))

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        """Run the action, and answer with entities to visit next; an Action by itself does nothing."""
        return None
