"""Handlers for the events of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...launch.description import Event, EventHandler, SomeEntitiesType
from ...places import offer_places
from ..actions.lifecycle import LifecycleNode
from ..events import StateTransition

# When a managed node has changed its state.


class OnStateTransition(EventHandler):
    """Visits entities for each change of state of a node, or of any, that has all that is given.

    `transition`, `start_state` and `goal_state` are labels. `matcher` decides alone where it is given.
    """

    def __init__(
        self,
        *,
        entities: SomeEntitiesType,
        target_lifecycle_node: LifecycleNode | None = None,
        transition: str | None = None,
        start_state: str | None = None,
        goal_state: str | None = None,
        matcher: Callable[[Event], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(target_lifecycle_node, LifecycleNode | None):
            raise RuntimeError(
                f"OnStateTransition requires a 'LifecycleNode' as its target, got {target_lifecycle_node!r}"
            )
        self._target = target_lifecycle_node
        self._labels = (transition, start_state, goal_state)
        super().__init__(matcher=matcher or self._is_meant, entities=entities, **kwargs)

    def _is_meant(self, event: Event) -> bool:
        if not isinstance(event, StateTransition) or self._target not in (None, event.action):
            return False
        found = (event.transition, event.start_state, event.goal_state)
        return all(wanted in (None, label) for wanted, label in zip(self._labels, found, strict=True))

    @property
    def handler_description(self) -> str:
        return "<actions>"

    @property
    def matcher_description(self) -> str:
        of = "" if self._target is None else f" and event.action == LifecycleNode({id(self._target):#x})"
        return f"event == StateTransition{of}"


__all__ = ["OnStateTransition"]

offer_places(__name__)
