"""Recordings of a run: what makes them, by the ending of their file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.output import as_path
from fleet_sim.registry import Registry, instances_of


class RunRecording(Protocol):
    """A recording under way. It ends with `close`, with its `with` block, and with the simulation."""

    @property
    def path(self) -> Path:
        """The file, there once the recording is closed."""

    @property
    def error(self) -> FleetSimError | None:
        """What ended the recording before its end, such as a full disk; the run goes on."""

    @property
    def dropped(self) -> int:
        """How many samples were left out because writing was too slow, with `on_full="drop"`."""

    def close(self) -> None:
        """Write the rest and give the file its name; may be called again. Raises `error` if there is one."""

    def __enter__(self) -> RunRecording:
        """Return the recording."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""


@runtime_checkable
class RunRecorder(Protocol):
    """A format of recordings."""

    def start(self, sim: Any, path: Path, settings: Mapping[str, Any]) -> RunRecording:
        """Begin a recording of `sim` in the file `path`; raises InvalidValueError for settings that are not allowed."""


RECORDERS: Registry[RunRecorder] = Registry(
    "recorder", instances_of(RunRecorder, "an object with `start(sim, path, settings)`"), group="fleet_sim.recorder"
)
"""Formats of recordings by the ending of their files, without the dot."""


def start_recording(sim: object, path: str | Path, settings: Mapping[str, Any]) -> RunRecording:
    """Begin a recording in the format that the ending of `path` says."""
    path = as_path(path)
    ending = path.suffix.removeprefix(".").lower()
    if ending not in RECORDERS:
        known = ", ".join(f".{name}" for name in RECORDERS.names())
        raise InvalidValueError(f"{path}: the ending says the format of a recording; known: {known}")
    return RECORDERS.get(ending).start(sim, path, settings)
