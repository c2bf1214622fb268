"""A kind of disturbance from another package: its keys, its effect and its code count as those of our own do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.disturbances import DISTURBANCES, DisturbanceKind, Disturbed, Effect, Event, RobotError
from fleet_sim.warehouse.disturbances.section import SECTION

ENDS: list[tuple[str, int]] = []


@dataclass
class FlatTyre(DisturbanceKind):
    """Robots crawl, and note when."""

    steps: ClassVar[bool] = True
    pace: float = setting(0.2, above=0.0, high=1.0, doc="Of their speed limits.")

    def effect(self, event: Event) -> Effect:
        return Effect(pace=self.pace, errors=(RobotError("flat_tyre", "warning", "a tyre is flat"),))

    def begin(self, at: Disturbed) -> None:
        at.memory["steps"] = 0

    def step(self, all_of_it: Sequence[Disturbed], dt: float) -> None:
        for at in all_of_it:
            at.memory["steps"] += 1

    def end(self, at: Disturbed) -> None:
        ENDS.append((at.event.target, at.memory["steps"]))


@pytest.fixture(autouse=True)
def kind() -> Iterator[None]:
    DISTURBANCES.register("flat_tyre", FlatTyre)
    yield
    DISTURBANCES.unregister("flat_tyre")


def scenario(**entry: Any) -> dict[str, Any]:
    """A robot that is sent 100 m away."""
    return {
        "simulation": {"timestep": 0.1, "gui": False, "raise_on_fault": True},
        "robots": [{"name": "r", "pose": [0.0, 0.0, 0.1]}],
        "disturbances": [{"kind": "flat_tyre", **entry}],
    }


def test_a_new_kind_slows_robots_and_tells_its_own_error() -> None:
    sim = fs.MultiRobotSimulationCore.from_dict(scenario(at=3, lasts=2, pace=0.25))
    part = sim.features.use("disturbances")
    ENDS.clear()
    sim.agents[0].set_goal(fs.Pose((100.0, 0.0, 0.1)))
    speeds, told = [], []
    for _ in range(80):
        sim.step_once()
        speeds.append(float(sim.world.velocity[0, 0]))
        told.append([error.kind for error in part.errors_of(0)])
    assert max(speeds) == pytest.approx(2.0)
    # It brakes at its acceleration, then drives at a quarter of its limit.
    assert np.allclose(speeds[34:49], 0.5) and speeds[28] == pytest.approx(2.0) and speeds[-1] == pytest.approx(2.0)
    assert [bool(kinds) for kinds in told] == [30 <= step < 50 for step in range(80)]
    assert ENDS == [("r", 20)]


def test_its_keys_are_checked_and_completed() -> None:
    with pytest.raises(ConfigError, match=r"disturbances\[0\]\.pace: "):
        fs.MultiRobotSimulationCore.from_dict(scenario(pace=2.0))
    items = SECTION.schema()["anyOf"][1]["items"]["anyOf"]
    own = next(item for item in items if item["properties"]["kind"]["const"] == "flat_tyre")
    assert {"pace", "at", "per_hour", "robots"} <= own["properties"].keys() and "stations" not in own["properties"]
