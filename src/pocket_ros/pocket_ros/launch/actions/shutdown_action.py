"""End the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..events.events import Shutdown as ShutdownEvent
from ..events.process.events import ProcessExited
from ..launch_description_entity import LaunchDescriptionEntity
from .emit_event import EmitEvent

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class Shutdown(EmitEvent):
    """Shuts the launch down; as the answer to a process's end it says which."""

    def __init__(self, *, reason: str = "reason not given", **kwargs: Any) -> None:
        super().__init__(event=ShutdownEvent(reason=reason), **kwargs)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        cause = context.get_locals_as_dict().get("event")
        if isinstance(cause, ProcessExited):
            from ..logging import get_logger

            get_logger("launch").info(
                f"process[{cause.process_name}] was required: shutting down launched system"
            )
        return super().execute(context)
