"""End the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..action import Parsed
from ..events.events import Shutdown as ShutdownEvent
from ..events.process.events import ProcessExited
from ..frontend.attributes import optional_texts
from ..frontend.expose import expose_action
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import describe_substitutions
from .emit_event import EmitEvent

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser
    from ..launch_context import LaunchContext


@expose_action("shutdown")
class Shutdown(EmitEvent):
    """Shuts the launch down; as the answer to a process's end it says which."""

    def __init__(self, *, reason: SomeSubstitutionsType = "reason not given", **kwargs: Any) -> None:
        self._reason = normalize_to_list_of_substitutions(reason)
        told = reason if isinstance(reason, str) else describe_substitutions(self._reason)
        super().__init__(event=ShutdownEvent(reason=told), **kwargs)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `reason` says."""
        return cls, super().parse(entity, parser)[1] | optional_texts(entity, parser, "reason")

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        cause = context.get_locals_as_dict().get("event")
        if isinstance(cause, ProcessExited):
            from ..logging import get_logger

            get_logger("launch").info(
                f"process[{cause.process_name}] was required: shutting down launched system"
            )
        context.emit_event_sync(ShutdownEvent(reason=perform_substitutions(context, self._reason)))
        return None
