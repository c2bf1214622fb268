"""Actions after a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..event import Event
from ..event_handler import BaseEventHandler
from ..events.events import Shutdown, TimerEvent
from ..frontend.attributes import optional_texts
from ..frontend.expose import expose_action
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions
from ..utilities.type_utils import perform_bool, perform_float

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser
    from ..launch_context import LaunchContext


@expose_action("timer")
class TimerAction(Action):
    """Visits its actions once `period` seconds have passed; `cancel` and, by default, a shutdown
    prevent it.
    """

    def __init__(
        self,
        *,
        period: float | SomeSubstitutionsType,
        actions: Iterable[LaunchDescriptionEntity],
        cancel_on_shutdown: bool | SomeSubstitutionsType = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._period = (
            period if isinstance(period, int | float) else normalize_to_list_of_substitutions(period)
        )
        self._actions = list(actions)
        self._cancel_on_shutdown: Any = cancel_on_shutdown
        self._future: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._canceled = False

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `period`, `cancel_on_shutdown` and the tags inside say."""
        arguments = super().parse(entity, parser)[1]
        arguments["period"] = parser.parse_if_substitutions(entity.get_attr("period", data_type=float))
        arguments |= optional_texts(entity, parser, "cancel_on_shutdown")
        return cls, arguments | {"actions": [parser.parse_action(child) for child in entity.children]}

    @property
    def period(self) -> float | SomeSubstitutionsType:
        """Seconds."""
        return self._period

    @property
    def actions(self) -> list[LaunchDescriptionEntity]:
        """What follows."""
        return self._actions

    def describe(self) -> str:
        return f"TimerAction(period={self._period})"

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        return [(f"after {self._period} seconds", self._actions)]

    def cancel(self) -> None:
        """Prevent the actions, if they have not been visited yet."""
        self._canceled = True
        if self._timer is not None:
            self._timer.cancel()
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        assert context.asyncio_loop is not None
        if self._canceled:
            return None
        self._future = context.asyncio_loop.create_future()
        self._cancel_on_shutdown = perform_bool(context, self._cancel_on_shutdown)
        context.register_event_handler(_OnTimer(self))
        self.start(context, perform_float(context, self._period))
        return None

    def start(self, context: LaunchContext, period: float) -> None:
        """Arrange for `expire` after `period` seconds."""
        assert context.asyncio_loop is not None
        self._timer = context.asyncio_loop.call_later(period, self.expire, context)

    def expire(self, context: LaunchContext) -> None:
        """The time has come."""
        context.emit_event_sync(TimerEvent(timer_action=self))

    def handle(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """What is to be visited now."""
        if self._canceled or self._future is None or self._future.done():
            return []
        self._future.set_result(None)
        return self._actions

    @property
    def cancel_on_shutdown(self) -> bool:
        """Whether a shutdown prevents the actions; before the action is visited what was given."""
        return bool(self._cancel_on_shutdown)

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        return self._future


class _OnTimer(BaseEventHandler):
    """Ends one timer, by its event or by a shutdown."""

    def __init__(self, timer: TimerAction) -> None:
        super().__init__(matcher=self._is_for_me)
        self._timer = timer

    def _is_for_me(self, event: Event) -> bool:
        if isinstance(event, TimerEvent):
            return event.timer_action is self._timer
        return isinstance(event, Shutdown) and self._timer.cancel_on_shutdown

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        context.unregister_event_handler(self)
        if isinstance(event, Shutdown):
            self._timer.cancel()
            return None
        return self._timer.handle(context)
