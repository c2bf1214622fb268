"""McapRecording: samples of a simulation on their way into an MCAP file."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from fleet_sim.core.pipeline import Phase, System
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.stamps import RosTime
from fleet_sim.errors import FleetSimError, InvalidValueError, StateError
from fleet_sim.facade.recording import RunRecording
from fleet_sim.facade.state_files import package_version
from fleet_sim.orders.news import OrderNews
from fleet_sim.orders.order import OrderStatus
from fleet_sim.record.message_types import check_installed
from fleet_sim.record.parcels import AttachedFile, Description
from fleet_sim.record.sensing import RecordedSensors, kinds_of
from fleet_sim.record.settings import RecordParams
from fleet_sim.record.writing import WriterProcess
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.floor_plan import floor_plans_of, plans_to_json

logger = logging.getLogger(__name__)

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
        """Take the first sample, and hear of all that is recorded from now on."""
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
        """Hear of nothing any more."""
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
                self._writer.give(AttachedFile(SCENARIO, "application/json", content))
            except (TypeError, ValueError) as error:
                about["scenario"] = f"not recorded, as it has values that no file can hold: {error}"
        plans = floor_plans_of(sim)
        if plans:
            self._writer.give(AttachedFile(FLOOR_PLAN, "application/json", plans_to_json(plans).encode()))
        self._writer.give(Description(ABOUT, about))


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
        if not path.parent.is_dir():
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
