"""A planner that is not built in: registered by name, with a setting of its own, it drives robots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from crowds import Crowd
from networks import site_of

import fleet_sim as fs
from fleet_sim.base.arrays import Ints
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.traffic import PLANNERS, Planner, PlannerSettings, Problem

NAME = "westward"


@dataclass
class WestwardSettings(PlannerSettings):
    """The settings of the planner below."""

    steps: int = setting(4, low=1, high=100, doc="Nodes to go west before the robot stays.")


class Westward(Planner):
    """Sends every robot west, one node a step, whatever its goal is."""

    settings_class = WestwardSettings

    def plan(self, problem: Problem) -> Ints:
        ahead = np.minimum(np.arange(problem.window + 1), self.settings.steps)
        return np.maximum(problem.starts[:, None] - ahead, 0)


@pytest.fixture(autouse=True)
def westward() -> Iterator[None]:
    PLANNERS.register(NAME, Westward)
    yield
    PLANNERS.unregister(NAME)


def test_robots_drive_as_a_planner_of_ones_own_plans() -> None:
    crowd = Crowd(site_of("..........\n"), 1, seed=3, planner=NAME, settings={"steps": 2})
    (agent,) = crowd.agents
    start = crowd.traffic.node_of(agent.get_pose().position[:2])
    assert start > 0, "choose another seed: the robot stands at the western end of the hall"
    crowd.traffic.send(agent, len(crowd.traffic.network) - 1)
    crowd.run(3.0)
    assert crowd.traffic.node_of(agent.get_pose().position[:2]) < start
    assert crowd.traffic.figures()["refusals"] == 0


def test_its_settings_are_checked_as_all_others_are() -> None:
    with pytest.raises(fs.ConfigError, match=r"steps: must be .* 100"):
        Crowd(site_of("..........\n"), 1, planner=NAME, settings={"steps": 101})
