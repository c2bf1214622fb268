"""Conditions that a program triggers itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .callback_groups import CallbackGroup
from .context import Context
from .entity import Entity
from .handle import Handled
from .utilities import get_default_context


class GuardCondition(Entity, Handled):
    """Runs its callback in an executor after `trigger`."""

    def __init__(
        self,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None,
        context: Context | None = None,
    ) -> None:
        from ..dds.waitset import Guard

        super().__init__(callback_group)
        self.callback = callback
        context = get_default_context() if context is None else context
        self._guard = Guard(context.participant)

    def trigger(self) -> None:
        """Have the callback run. Safe from any thread. Raises InvalidHandle after destruction."""
        self.check_alive()
        self._guard.trigger()

    def destroy(self) -> None:
        """End it."""
        if not self._destroyed:
            self._destroyed = True
            self._guard.close()

    def conditions(self) -> list[int]:
        return [self._guard.handle]

    def take(self) -> Any | None:
        return self if self._guard.reset() else None

    def run(self, work: Any) -> Any:
        return self.callback() if self.callback is not None else None
