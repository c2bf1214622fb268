"""Sensors that count how they are read, and robots to carry them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.settings import setting
from fleet_sim.sensing.sensors import Batch, Reading, SensorKind, SensorParams, register_sensor
from fleet_sim.world.clock import normal_rows

Sim = fs.MultiRobotSimulationCore


@dataclass(frozen=True)
class ProbeParams(SensorParams):
    """A sensor that tells where it is."""

    default_name: ClassVar[str] = "probe"
    gain: float = setting(1.0, low=0, doc="Factor on what it reads.")


@dataclass(frozen=True, eq=False)
class ProbeReading(Reading):
    """Where a probe is, some noise, and how often it was read."""

    place: Floats
    noise: Floats
    count: int


class Probe(SensorKind):
    """Counts its calls in `calls`: how many sensors each was for."""

    params_class = ProbeParams
    reading_class = ProbeReading
    calls: ClassVar[list[int]] = []

    def state(self, params: ProbeParams) -> dict[str, Any]:
        return {"count": np.empty(0, np.int64)}

    def begin(self, batch: Batch) -> None:
        batch.state["count"][:] = 0

    def sense(self, batch: Batch) -> dict[str, Any]:
        self.calls.append(len(batch))
        batch.state["count"] += 1
        return {
            "place": batch.positions * batch.params.gain,
            "noise": normal_rows(batch.keys, batch.tick, 5),
            "count": batch.state["count"].copy(),
        }


@dataclass(frozen=True)
class SlowProbeParams(ProbeParams):
    """A probe whose readings are spread over the steps."""


class SlowProbe(Probe):
    params_class = SlowProbeParams
    spread = True


register_sensor("probe", Probe)
register_sensor("slow_probe", SlowProbe)


def agents(sim: Sim, count: int, **settings: Any) -> list[fs.Agent]:
    """Spawn robots in a row, each turned a little more."""
    return sim.spawn_all(
        [
            fs.AgentSpawnParams(
                name=f"r{index}",
                motion_mode="omnidirectional",
                initial_pose=fs.Pose.from_yaw(2.0 * index, 0, 0, 0.3 * index),
                **settings,
            )
            for index in range(count)
        ]
    )
