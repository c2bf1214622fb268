"""Recordings of runs, recorded inputs that give the same run again, and live views: where they are found."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TextIO, runtime_checkable

from fleet_sim.base import files
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StateError, brief
from fleet_sim.base.params import ViewParams
from fleet_sim.base.registry import Fit, Registry, instances_of
from fleet_sim.world.commands import Command
from fleet_sim.world.inbox import Recordable
from fleet_sim.world.user_code import EventBus


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
    path = files.as_path(path)
    ending = path.suffix.removeprefix(".").lower()
    if ending not in RECORDERS:
        known = ", ".join(f".{name}" for name in RECORDERS.names())
        raise InvalidValueError(f"{path}: unsupported recording format {path.suffix!r}; use {known}")
    return RECORDERS.get(ending).start(sim, path, settings)


# InputRecorder and recorded inputs: what came into a run from outside, to repeat the run without those who sent it. A
# file has a line of JSON for each command, with the step in which it was applied. The first line is of the run: its
# scenario and the hash of its beginning; the last one of its end. Both hashes are compared when it is repeated. Each
# line has a checksum; files that are made or edited by hand may have none.


logger = logging.getLogger(__name__)

FORMAT = "fleet_sim inputs 1"
LARGEST_FILE = 2**31
"""Bytes of a file of inputs."""
HEAD, ENTRY, END = {"format", "scenario", "source", "hash"}, {"tick", "in_step", "command"}, {"end", "hash"}


class InputRecorder(contextlib.AbstractContextManager["InputRecorder"]):
    """Writes the commands that a simulation applies, from its first step to `close`, to a file; one per line.

    Everything that comes from outside is a command: topics, services and actions of ROS, clicks, and what Python puts
    into `sim.inbox`. Calls of handles in Python are part of a program, and not recorded. As with recordings, the file
    has its name when it is whole, and is beside it until then. Raises StateError where a run cannot be repeated from
    its beginning, and InvalidValueError where nothing can be written.
    """

    def __init__(self, sim: Recordable, path: str | Path, *, source: str = "") -> None:
        scenario = sim.population.scenario
        # Without the scenario the run could not be begun again, and without its first steps not be repeated.
        if sim.clock.tick or not scenario:
            what = f"it is at step {sim.clock.tick}" if sim.clock.tick else "it was made in Python, without one"
            raise StateError(f"inputs are recorded from the beginning of a scenario on, to be repeated with it; {what}")
        self.error: FleetSimError | None = None
        self.path = files.as_path(path)
        self._part = files.part_beside(self.path)
        self._sim = sim
        try:
            # Before a file is made, so that none is left of a run that cannot be recorded.
            head = {"format": FORMAT, "scenario": scenario, "source": source, "hash": sim.state_hash()}
            if sim.world.output_folder:
                head["output"] = os.path.abspath(sim.world.output_folder)
            line = files.sealed(json.dumps(head))
        except (TypeError, ValueError) as error:
            raise InvalidValueError(f"inputs: the scenario has a value that no file can hold: {error}") from error
        files.check_target(path)
        if files.exists(self._part):
            raise InvalidValueError(
                f"{self._part} is there: another run records its inputs, or one was killed. Repeat that with "
                f"`fleet-sim run --replay-inputs {self._part}`, give it another name, or remove it"
            )
        self._stream: TextIO | None = _begun(path, self._part, line)
        # When applied, not when put: that is when it takes effect.
        sim.inbox.on_apply.append(self._note)
        sim.events.on("closed", self._on_closed)
        sim.events.on("state_loaded", self._on_loaded)

    def close(self) -> None:
        """Write the end and give the file its name; may be called again. Raises `error` if there is one."""
        if self._stream is not None:
            self._write({"end": self._sim.clock.tick, "hash": self._sim.state_hash()})
            self._finish()
        if self.error is not None:
            raise self.error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The error under way is the one to see.
        with contextlib.suppress(FleetSimError):
            self.close()

    def _note(self, command: Command) -> None:
        """Write a command that is about to be applied, with the step; what cannot be written ends the recording."""
        if self._stream is None:
            return
        sim = self._sim
        try:
            # Written as values right away, as an action changes while it runs.
            plain = sim.dispatcher.described(command).to_dict()
            self._write({"tick": sim.clock.tick, "in_step": sim.world.in_step, "command": plain})
        except (FleetSimError, TypeError, ValueError) as error:
            # The run goes on: what is recorded up to here is kept, and the error is raised at the end.
            self._fail(InvalidValueError(f"inputs: {type(command).__name__} of step {sim.clock.tick}: {error}"))

    def _write(self, data: Mapping[str, Any]) -> None:
        """Write one line so that it survives a kill; an error ends the recording and is kept in `error`."""
        if self._stream is None:
            return
        line = files.sealed(json.dumps(data))
        try:
            self._stream.write(line + "\n")
            # Each at once: it is what is left of a run that is killed.
            self._stream.flush()
        except OSError as error:
            # Of a full disk nothing is left: others need the room.
            self._fail(InvalidValueError(f"{self.path}: cannot be written: {error.strerror or error}"), kept=False)

    def _fail(self, error: FleetSimError, *, kept: bool = True) -> None:
        self.error = error
        rest = f"; they are in {self._part}" if kept else ""
        logger.error("the inputs are recorded up to here, the run goes on: %s%s", error, rest)
        self._finish(whole=False)
        if not kept:
            with contextlib.suppress(OSError):
                files.remove(self._part)

    def _finish(self, *, whole: bool = True) -> None:
        """End the recording; a `whole` one gets its name, and what there is of another stays beside it."""
        stream, self._stream = self._stream, None
        sim = self._sim
        # No command is written any more, whatever ends the recording.
        sim.inbox.on_apply.remove(self._note)
        sim.events.off("closed", self._on_closed)
        sim.events.off("state_loaded", self._on_loaded)
        if stream is None:
            return
        # What could not be written was told; closing tries it once more.
        with contextlib.suppress(OSError):
            stream.close()
        if whole:
            files.put_in_place(self._part, self.path)

    def _on_loaded(self) -> None:
        """End the recording: a repeated run does not have the file of the state."""
        self._fail(StateError(f"inputs: a state was loaded from a file, before step {self._sim.clock.tick + 1}"))

    def _on_closed(self) -> None:
        with contextlib.suppress(FleetSimError):
            self.close()


def _begun(path: str | Path, part: Path, line: str) -> TextIO:
    """Return the file `part` of inputs that are to be `path`, with its first line.

    Raises InvalidValueError where the system refuses; nothing is left then.
    """
    with files.refusals(path):
        stream = files.opened(part, "x")
        try:
            stream.write(line + "\n")
            stream.flush()
        except OSError:
            files.remove(part)
            # What was left to write does not fit; closing tries it once more.
            with contextlib.suppress(OSError):
                stream.close()
            raise
    return stream


@dataclass(frozen=True)
class RecordedInputs:
    """The inputs of a run, read from a file; `end` is the step it ended at and its hash, None where it was cut off."""

    path: Path
    scenario: Mapping[str, Any]
    source: str
    begin_hash: str
    entries: tuple[tuple[int, bool, Command], ...]
    end: tuple[int, str] | None
    output: str = ""
    """Where messages could write new files in that run."""

    @classmethod
    def load(cls, path: str | Path) -> RecordedInputs:
        """Return the inputs in a file; raises ConfigError naming file and line."""
        path = files.as_path(path)
        entries: list[tuple[int, bool, Command]] = []
        head: dict[str, Any] = {}
        end: tuple[int, str] | None = None
        for number, data in _lines(path):
            where = f"line {number}"
            # The first line is of the run, and has to fit before any other is read.
            if number == 1:
                if set(data) - {"output"} != HEAD or data["format"] != FORMAT or not isinstance(data["scenario"], dict):
                    raise ConfigError(f"expected the head of {FORMAT!r}, got {brief(data)}", source=str(path))
                head = data
            elif end is not None:
                raise ConfigError("there is something after its end", source=str(path), path=where)
            elif set(data) == END:
                end = _tick(data["end"], path, where), str(data["hash"])
            elif set(data) == ENTRY and isinstance(data["in_step"], bool):
                try:
                    command = Command.from_dict(data["command"])
                except FleetSimError as error:
                    raise ConfigError(str(error), source=str(path), path=where) from error
                entries.append((_tick(data["tick"], path, where), data["in_step"], command))
            else:
                raise ConfigError(f"expected a command and its step, got {brief(data)}", source=str(path), path=where)
        if not head:
            raise ConfigError("it is empty", source=str(path))
        if end is None:
            logger.warning("%s has no end, it was cut off: it is repeated up to its last command", path)
        source, begin, output = str(head["source"]), str(head["hash"]), str(head.get("output", ""))
        return cls(path, head["scenario"], source, begin, tuple(entries), end, output)

    def replay(self, sim: Recordable, before_step: Callable[[], object] = lambda: None) -> None:
        """Run `sim`, new from the scenario, to the end of these inputs, each applied as it was.

        What messages had written is not written again: it goes to a folder that is thrown away.
        A run that was cut off ends with the step of its last command. `before_step()` may wait, to slow it down. Raises
        StateError where the run begins or ends in another state than the recorded one.
        """
        begin = sim.state_hash()
        # Compared first: with another beginning all commands would do something else.
        if begin != self.begin_hash or sim.clock.tick:
            raise StateError(
                f"{self.path}: the scenario makes another world here (hash {begin}, recorded {self.begin_hash}): its "
                "files have changed since, or fleet_sim is another version"
            )
        sim.world.output_folder = self.output
        sim.inbox.share = inf
        with files.repeating():
            self._repeat(sim, before_step)

    def _repeat(self, sim: Recordable, before_step: Callable[[], object]) -> None:
        for tick, in_step, command in self.entries:
            self._run_to(sim, tick, before_step)
            # What failed then fails now; the sender is not here to be told.
            sim.inbox.put(command)
            # Applied right now, as it was; the others wait for their turn inside the next step.
            if not in_step:
                sim.inbox.drain(sim.dispatcher)
        # Those of the last tick wait for the step that applies them.
        if len(sim.inbox):
            sim.step_once()
        if self.end is None:
            return
        self._run_to(sim, self.end[0], before_step)
        if sim.state_hash() != self.end[1]:
            raise StateError(
                f"{self.path}: the run ended in another state (hash {sim.state_hash()}, recorded {self.end[1]}): "
                "something changed it that is no command, such as Python code that called handles"
            )

    def _run_to(self, sim: Recordable, tick: int, before_step: Callable[[], object]) -> None:
        while sim.clock.tick < tick:
            before_step()
            sim.step_once()
        # Commands that wait for the next step when time goes back are of that time.
        if sim.clock.tick > tick:
            raise StateError(f"{self.path}: a command was applied at step {tick}, and the run is at {sim.clock.tick}")


def _lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the content of each whole line; the last one may have been cut off."""
    try:
        # Asked before it is read, as it may be of somebody else.
        if files.status(path).st_size > LARGEST_FILE:
            raise ConfigError(f"it is larger than {LARGEST_FILE} bytes", source=str(path))
        with files.opened(path) as stream:
            checked = False
            for number, line in enumerate(stream, 1):
                if not line.endswith("\n"):
                    return
                data = _mapping(line, path, number)
                # All lines, or none: one alone cannot lose it.
                checked = data.pop("crc", None) is not None or checked
                if checked and not files.is_sealed(line):
                    reason = "it is damaged or was changed: its checksum is that of another line"
                    raise ConfigError(reason, source=str(path), path=f"line {number}")
                yield number, data
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    except UnicodeError as error:
        raise ConfigError("it is not a file of inputs: those are text", source=str(path)) from error


def _mapping(line: str, path: str | Path, number: int) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {str(error)[:200]}", source=str(path), path=f"line {number}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"expected a mapping, got {brief(data)}", source=str(path), path=f"line {number}")
    return data


def _tick(value: object, path: str | Path, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        # 2 ** 53: whole numbers beyond it are not exact in all readers of JSON.
        raise ConfigError(f"expected a step from 0 on, got {brief(value)}", source=str(path), path=where)
    return value


# Live views of a simulation, and where they are found: what shows one is above, and may come from another package.


DEFAULT = "web"


class LiveView(Protocol):
    """A view of a simulation that goes on while the simulation does."""

    @property
    def url(self) -> str:
        """Where it is seen."""

    def close(self) -> None:
        """End it; may be called again."""


ViewOpener = Callable[[Any, ViewParams], LiveView]
"""Opens a view of a simulation."""

VIEWS: Registry[ViewOpener] = Registry(
    "view", Fit("a function of a simulation and ViewParams", callable), group="fleet_sim.view"
)
"""What shows simulations live, by name."""


def open_view(sim: object, events: EventBus, settings: ViewParams, kind: str = DEFAULT) -> LiveView:
    """Return a new view of `sim`, which ends with it. Raises UnknownNameError, and what the opener raises."""
    view = VIEWS.get(kind)(sim, settings)
    events.on("closed", view.close)
    return view
