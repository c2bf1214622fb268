"""McapRecording: samples of a simulation on their way into an MCAP file."""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Any

from fleet_sim.apps.record import samples, writer_program
from fleet_sim.apps.record.message_types import check_installed, open_part
from fleet_sim.apps.record.readings import RECORDED
from fleet_sim.apps.record.samples import PATH_PERIOD, RecordParams, RingSender, SampleEncoder, SensorEntry
from fleet_sim.apps.record.topics import object_frame
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError
from fleet_sim.base.files import exists, is_folder, part_beside, refusals, remove, scratch_file, status
from fleet_sim.facade.recording import RunRecording
from fleet_sim.facade.state import package_version
from fleet_sim.models.kinematics.tree import FrameLink, base_frame
from fleet_sim.sensing.sensors.sensor import (
    Readings,
    Sensor,
    frame_links,
    frame_of,
    optical_frame_of,
    owner_of,
    reference_of,
    topic_of,
)
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.orders.order import OrderStatus
from fleet_sim.warehouse.orders.orders import OrderNews
from fleet_sim.warehouse.sites.drawing import floor_plans_of, plans_to_json
from fleet_sim.world.clock import RosTime
from fleet_sim.world.commands import Frames, is_ros_name
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.snapshot import EntityRoster, GivenColors, KnownPaths, SnapshotBoard, StateArrays, keep_paths

# Readings of sensors on their way into a recording: they are read as by any consumer, each at its own rate.


ALL = "all"


def kinds_of(asked: Sequence[str]) -> frozenset[str]:
    """Return the kinds of sensors to record; raises InvalidValueError for those that cannot be."""
    if list(asked) == [ALL]:
        return frozenset(RECORDED)
    for kind in asked:
        if kind not in RECORDED:
            raise InvalidValueError(
                f"sensors: readings of {kind!r} cannot be recorded; known: {', '.join(RECORDED)}, and {ALL} alone"
            )
    return frozenset(asked)


class RecordedSensors:
    """Reads the sensors of some kinds, those that come later too, and gives what they read. For the step's thread."""

    def __init__(
        self, sim: MultiRobotSimulationCore, kinds: frozenset[str], frames: Frames, give: Callable[..., None]
    ) -> None:
        self._sim, self._kinds, self._frames, self._give = sim, kinds, frames, give
        self._numbers: dict[Sensor, int] = {}
        self._version: tuple[int, int] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Follow what was spawned, removed or renamed."""
        sensors, world = self._sim.sensors, self._sim.world
        version = (sensors.version, world.version)
        if version == self._version:
            return
        self._version = version
        wanted = [sensor for sensor in sensors.all if sensor.type in self._kinds and _has_topic(sensor)]
        for sensor in wanted:
            if sensor not in self._numbers:
                sensor.subscribe()
        for sensor in self._numbers:
            if sensor not in wanted and sensor.is_alive:
                sensor.unsubscribe()
        self._numbers = {sensor: number for number, sensor in enumerate(wanted)}
        self._give("take_sensors", *map(self._entry, wanted))

    def _entry(self, sensor: Sensor) -> SensorEntry:
        """Return what the file says about a sensor: its topic, its frames and the time between readings."""
        frames, rate = self._frames, sensor.params.rate
        return SensorEntry(
            kind=sensor.type,
            topic=f"/{topic_of(sensor)}",
            frame=(optical_frame_of if sensor.type == "camera" else frame_of)(frames, sensor),
            links=(*_object_links(frames, sensor), *frame_links(frames, sensor)),
            reference=reference_of(frames, sensor),
            params=sensor.params,
            period=self._sim.clock.dt if rate is None else 1.0 / rate,
        )

    def take(self, now: int) -> None:
        """Give the readings that this step has made, of the time `now` in ns."""
        for readings in self._sim.sensors.fresh:
            if readings.sensors[0].type in self._kinds:
                self._take(readings, now)
        self.refresh()

    def _take(self, readings: Readings, now: int) -> None:
        own = [index for index, sensor in enumerate(readings.sensors) if sensor in self._numbers]
        if own:
            numbers = tuple(self._numbers[readings.sensors[index]] for index in own)
            names = RECORDED[readings.sensors[0].type].fields
            values = {name: [readings.values[name][index] for index in own] for name in names}
            self._give("write", now, numbers, values)

    def end(self) -> None:
        """Read them no more."""
        for sensor in self._numbers:
            if sensor.is_alive:
                sensor.unsubscribe()
        self._numbers = {}


def _has_topic(sensor: Sensor) -> bool:
    owner = owner_of(sensor)
    return is_ros_name(sensor.name) and (not owner or is_ros_name(owner))


def _object_links(frames: Frames, sensor: Sensor) -> list[FrameLink]:
    """Return the frames that sensors of an object refer to, as those of robots do: its base, and its odometry's origin.

    Without a sensor, an object has one frame only. Empty for sensors of robots and of the world.
    """
    owner = sensor.owner
    if owner is None or owner.world.kind[owner.row] == KIND_AGENT:
        return []
    name, model = owner_of(sensor), owner.world.model_of(owner.row)
    base = FrameLink(object_frame(name, frames.map), base_frame(frames, name, model))
    return [FrameLink(frames.map, frames.odom(name)), base]


# WriterProcess: samples of a run on their way into a file, which another process writes.


logger = logging.getLogger(__name__)

RING = 16 << 20
"""Bytes of the ring: 120 samples of 1,000 robots, where everything changes. In a larger one, the run would write to new
memory for longer, which costs it three times as much."""
BATCH = 1 << 20
"""Bytes after which the other process is told: each time it is woken costs the run some µs."""
SOONEST = 0.1
"""In s of real time, after which it is told of fewer."""


class WriterProcess:
    """Gives samples to a process of its own, which makes messages and chunks of them; the run copies arrays only.

    `put` may be called by one thread, `finish` by any. `error` is what ended the writing before the end, `dropped` how
    many samples were left out. The process ends with this one, however this one ends, and writes what it was given.
    Raises InvalidValueError where the file cannot be begun.
    """

    def __init__(self, path: Path, params: RecordParams) -> None:
        self.error: FleetSimError | None = None
        self.dropped = 0
        self._path, self._part, self._params = path, part_beside(path), params
        # Guards all that follows.
        self._lock = Lock()
        self._over = False
        with open_part(path) as file:
            try:
                with refusals(path):
                    self._start(file.fileno())
            except BaseException:
                remove(self._part)
                raise
        self._ring = RingSender(self._memory)
        self._roster: EntityRoster | None = None
        self._colors: GivenColors | None = None
        self._samples = SampleEncoder()
        self._paths: KnownPaths | None = None
        self._looked = -PATH_PERIOD
        self._told, self._told_at, self._asked = 0, 0.0, False

    def _start(self, file: int) -> None:
        """Start the process that writes, with the ring in shared memory and the file already open."""
        self._socket, theirs = socket.socketpair()
        with theirs, _anonymous_file() as memory:
            memory.truncate(RING)
            # All of it at once, where the system can: the run is not to wait for each page of it.
            self._mapped = mmap.mmap(memory.fileno(), RING, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
            self._memory = memoryview(self._mapped)
            given = (theirs.fileno(), memory.fileno(), file)
            # Where this process finds its modules, the other one does. Not multiprocessing: it would run the user's
            # own program again, up to a guard that not every program has.
            names = (self._params.map_frame, self._params.namespace)
            program = (
                f"import sys; sys.path[:] = {sys.path!r}; from {writer_program.__name__} import main; main(sys.argv)"
            )
            self._process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, given), self._path, *names],
                pass_fds=given,
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for this process, which then ends the recording.
                start_new_session=True,
                # It computes nothing that is worth a thread.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return status(self._part).st_size if exists(self._part) else 0

    # ---- giving ------------------------------------------------------------------------------------------------------

    def put(self, now: int, board: SnapshotBoard, orders: tuple[Any, ...] = ()) -> bool:
        """Give the state of this moment, of the time `now` in ns; return whether it was taken.

        Where there is no room, see `on_full`.
        """
        with self._lock:
            state, roster, colors = self._look(now, board)
            if roster is not self._roster:
                self._roster = roster
                self._give("roster", roster)
            if colors is not self._colors:
                self._colors = colors
                self._give("colors", colors)
            if orders:
                self._give("orders", *orders)
            taken = self._give_state(now, board, state)
            self.dropped += not taken and not self._over
            return taken

    def _look(self, now: int, board: SnapshotBoard) -> tuple[StateArrays, EntityRoster, GivenColors]:
        """Return what a sample is made of; paths are those of the last look at them, where that was a moment ago."""
        known = self._paths if now - self._looked < PATH_PERIOD else None
        state, roster, colors = board.look(known)
        if known is None or known.roster is not roster:
            self._paths, self._looked = keep_paths(state, roster), now
        return state, roster, colors

    def _give_state(self, now: int, board: SnapshotBoard, state: StateArrays) -> bool:
        """Give a sample to the writer; return False where there is no room and it may be left out."""
        pieces = self._samples.pieces(now, board.tick, board.time, state)
        taken = self._give_record(samples.SAMPLE, pieces, waits=self._params.on_full == "wait")
        if not taken:
            # The next one cannot build on it.
            self._samples.start_anew()
        return taken

    def give(self, what: str, *given: object) -> None:
        """Give what `RecordWriter` knows by that name; waits until there is room."""
        with self._lock:
            self._give(what, *given)

    def _give(self, *message: object) -> None:
        self._give_record(samples.OBJECT, [pickle.dumps(message, pickle.HIGHEST_PROTOCOL)], waits=True)

    def _give_record(self, kind: int, pieces: list[bytes | memoryview], *, waits: bool) -> bool:
        """Give a record, as several where it is long; return False where there is no room for it."""
        size, records = self._ring.longest, [pieces]
        if sum(map(len, pieces)) > size:
            data = memoryview(b"".join(pieces))
            records = [[data[begin : begin + size]] for begin in range(0, len(data), size)]
        last = len(records) - 1
        return all(
            # The rest of a record that was begun is waited for in any case.
            self._put(kind if number == last else samples.PIECE, record, waits=waits or number > 0)
            for number, record in enumerate(records)
        )

    def _put(self, kind: int, pieces: list[bytes | memoryview], *, waits: bool) -> bool:
        """Put a record into the ring; return False once the writer has ended, or without room where nobody `waits`."""
        while not self._over:
            if self._ring.put(kind, pieces):
                if self._ring.head - self._told >= BATCH or time.monotonic() - self._told_at > SOONEST:
                    # Asked for early, it has answered when there is no room any more.
                    self._tell(wait=False)
                    self._hear(wait=False)
                return True
            self._tell(wait=waits)
            if not self._hear(wait=waits) and not waits:
                return False
        return False

    # ---- the other process -------------------------------------------------------------------------------------------

    def _tell(self, *, wait: bool, finish: bool = False) -> None:
        """Say up to where there are records; ask up to where they were taken, where that matters soon."""
        wish = samples.FINISH if finish else 0
        if self._ring.is_half_full and not self._asked:
            wish |= samples.ASK
        self._told, self._told_at = self._ring.head, time.monotonic()
        try:
            self._socket.sendall(samples.SIGNAL.pack(self._ring.head, wish), 0 if wait else socket.MSG_DONTWAIT)
            self._asked = self._asked or bool(wish & samples.ASK)
        except BlockingIOError:
            # It has enough to do; the next signal says this, too.
            return
        except OSError:
            # What it said before it ended is still to be heard.
            self._hear(wait=True)

    def _hear(self, *, wait: bool) -> bool:
        """Take one answer, if there is one or `wait` says so; return whether there was."""
        if self._over:
            return False
        try:
            head = self._socket.recv(samples.ANSWER.size, socket.MSG_WAITALL if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            head = b""
        if len(head) < samples.ANSWER.size:
            code = self._process.wait()
            if exists(self._part) and not status(self._part).st_size:
                remove(self._part)
            self._fail(f"the process that writes has ended, with code {code}", "", kept=exists(self._part))
            return True
        kind, number = samples.ANSWER.unpack(head)
        if kind == samples.TAKEN:
            self._ring.tail, self._asked = number, False
        elif kind == samples.FAILED:
            reason, trace, kept = pickle.loads(self._socket.recv(number, socket.MSG_WAITALL))
            self._fail(reason, trace, kept=kept)
        else:
            self._over = True
        return True

    def _fail(self, reason: str, trace: str, *, kept: bool) -> None:
        self._over = True
        self.error = FleetSimError(reason)
        rest = f"; what was written so far is in {self._part}" if kept else ""
        logger.error("the recording ends here, the run goes on: %s%s%s", reason, rest, trace)

    def finish(self) -> None:
        """Return when all samples are written and the file has its name, or could not be written."""
        with self._lock:
            if not self._over:
                self._tell(wait=True, finish=True)
            while not self._over:
                self._hear(wait=True)
            self._process.wait()
            self._socket.close()
            self._memory.release()
            self._mapped.close()


def _anonymous_file() -> IO[bytes]:
    """Return an open file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("fleet_sim recording"), "w+b")
    return scratch_file()


FORMAT = "fleet_sim recording 3"
SCENARIO, FLOOR_PLAN, ABOUT = "scenario.json", "floor_plan.json", "fleet_sim"
_RUNS_BACK = ("reset", "cleared")


class McapRecording:
    """A recording under way, see RunRecording. A run is the same with and without it."""

    def __init__(self, sim: MultiRobotSimulationCore, path: Path, params: RecordParams) -> None:
        self.path, self.params = path, params
        self._sim = sim
        self._closed = False
        kinds = kinds_of(params.sensors)
        check_installed()
        self._writer = WriterProcess(path, params)
        self._describe()
        self._time = RosTime(sim.clock)
        self._orders: OrderNews | None = None
        self._last_tick = -1
        # Not the checkpointed schedule of a callback: what is recorded must not depend on what is restored.
        self._schedule = sim.clock.schedule(params.rate)
        # Unique, as a run may have several recordings.
        self._system = f"record {path}"
        self._kinds = kinds
        self._sensors: RecordedSensors | None = None
        sim.control.between_steps(self._begin).result()

    @property
    def error(self) -> FleetSimError | None:
        """What ended the recording before its end."""
        return self._writer.error

    @property
    def dropped(self) -> int:
        """How many samples were left out because writing was too slow."""
        return self._writer.dropped

    def close(self) -> None:
        """Write the rest and give the file its name; may be called again. Raises `error` if there is one."""
        if not self._closed:
            self._closed = True
            control = self._sim.control
            # From another thread or in the middle of a step there is no state that belongs together.
            if not control.runs_elsewhere and not self._sim.world.in_step:
                self._sample_now()
            # Not waited for: it may be called from inside a step.
            control.between_steps(self._end)
            self._writer.finish()
        if self.error is not None:
            raise self.error

    def __enter__(self) -> McapRecording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the recording; its own errors are raised only if none is under way."""
        if kind is None:
            self.close()
            return
        # The error under way is the one to see; that of the recording was logged.
        with contextlib.suppress(FleetSimError):
            self.close()

    # ---- in the simulation's thread ----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Take the first sample, and subscribe to all that is recorded."""
        sim = self._sim
        self._sample_now()
        if self._kinds:
            frames = Frames(self.params.map_frame, self.params.namespace)
            self._sensors = RecordedSensors(sim, self._kinds, frames, self._writer.give)
        sim.pipeline.add(System(self._system, Phase.OBSERVE, self._run))
        for event in _RUNS_BACK:
            sim.events.on(event, self._on_reset)
        sim.events.on("closed", self._on_closed)

    def _end(self) -> None:
        """End all subscriptions."""
        sim = self._sim
        sim.pipeline.remove(self._system)
        if self._sensors is not None:
            self._sensors.end()
        for event in _RUNS_BACK:
            sim.events.off(event, self._on_reset)
        if self._orders is not None:
            self._orders.close()
        sim.events.off("closed", self._on_closed)

    def _on_closed(self) -> None:
        # What went wrong was logged when it did.
        with contextlib.suppress(FleetSimError):
            self.close()

    def _on_reset(self) -> None:
        self._time.on_reset()
        if self._orders is not None:
            self._orders.begin_anew()

    def _run(self, dt: float) -> None:
        if self._sensors is not None and not self._closed:
            self._sensors.take(self._time.now(ticks_ahead=1))
        if self._schedule.poll() is not None and not self._closed:
            self._put(self._time.now(ticks_ahead=1), self._sim.clock.tick + 1)
            if self.params.largest is not None and self._writer.size >= self.params.largest:
                logger.warning("%s has %d bytes, which is all it may have: it ends here", self.path, self._writer.size)
                with contextlib.suppress(FleetSimError):
                    self.close()

    def _sample_now(self) -> None:
        # Without a step since the last sample there is nothing new.
        if self._sim.clock.tick != self._last_tick:
            self._put(self._time.now(), self._sim.clock.tick)

    def _put(self, now: int, tick: int) -> None:
        self._last_tick = tick
        self._writer.put(now, self._sim.snapshots, self._changed_orders())

    def _changed_orders(self) -> tuple[OrderStatus, ...]:
        features = self._sim.features
        if self._orders is None and "orders" in features.used:
            self._orders = OrderNews(features.use("orders"), self._sim.events)
        return () if self._orders is None else self._orders.take(sys.maxsize)

    # ---- about the run -----------------------------------------------------------------------------------------------

    def _describe(self) -> None:
        """Write what the recording is of: before the first message, so that a cut off file has it too."""
        sim = self._sim
        about = {
            "format": FORMAT,
            "version": package_version() or "of a checkout that is not installed",
            "timestep": repr(sim.params.timestep),
            "seed": str(sim.params.seed),
            "map_frame": self.params.map_frame,
            "namespace": self.params.namespace,
        }
        scenario = sim.population.scenario
        if scenario:
            try:
                # JSON is YAML too: `fleet-sim run` takes it as it is.
                content = json.dumps(scenario, indent=1).encode()
                self._writer.give("attach", SCENARIO, "application/json", content)
            except (TypeError, ValueError) as error:
                about["scenario"] = f"not recorded, as it has values that no file can hold: {error}"
        plans = floor_plans_of(sim)
        if plans:
            self._writer.give("attach", FLOOR_PLAN, "application/json", plans_to_json(plans).encode())
        self._writer.give("describe", ABOUT, about)


class McapRecorder:
    """Recordings in MCAP, with the messages of ROS 2."""

    def start(self, sim: MultiRobotSimulationCore, path: Path, settings: Mapping[str, Any]) -> RunRecording:
        """Begin a recording of `sim` in the file `path`."""
        if sim.is_closed:
            raise StateError("this simulation was closed, so there is nothing more to record")
        known = RecordParams.__dataclass_fields__
        for name in settings:
            if name not in known:
                raise InvalidValueError(f"record: unknown setting {name!r}; known: {', '.join(known)}")
        if not is_folder(path.parent):
            raise InvalidValueError(f"{path}: cannot be written: there is no folder {str(path.parent)!r}")
        params, steps = RecordParams(**settings), 1.0 / sim.params.timestep
        # The default does not ask for more than there is.
        if "rate" in settings and params.rate is not None and params.rate > steps * (1.0 + 1e-9):
            logger.warning(
                "record: rate: %g Hz is more than the %g steps per second; each step is recorded, once",
                params.rate,
                steps,
            )
        return McapRecording(sim, path, params)


MCAP = McapRecorder()
