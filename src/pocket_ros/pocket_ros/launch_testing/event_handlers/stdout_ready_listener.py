"""Processes that say on standard output that they are ready."""

from __future__ import annotations

from typing import Any

from ...launch.actions import ExecuteProcess
from ...launch.event_handlers import OnProcessIO
from ...launch.events.process.events import ProcessIO
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.utilities import normalize_to_list_of_entities


class StdoutReadyListener(OnProcessIO):
    """Visits actions whenever a process, or any, writes a text to standard output, in one piece."""

    def __init__(self, *, target_action: ExecuteProcess | None = None, ready_txt: str, actions: Any) -> None:
        self._ready_text = ready_txt
        self._ready_actions: list[LaunchDescriptionEntity] = normalize_to_list_of_entities(actions)
        super().__init__(target_action=target_action, on_stdout=self._look)

    def _look(self, process_io: ProcessIO) -> list[LaunchDescriptionEntity] | None:
        return self._ready_actions if self._ready_text in process_io.text.decode(errors="replace") else None

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        return super().describe()[0], self._ready_actions
