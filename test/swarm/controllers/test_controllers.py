"""What each controller makes of what its agents sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from swarm_world import make_world

from fleet_sim.base.arrays import AnyArray
from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.controllers import BinaryController, MultibitBinaryController
from fleet_sim.swarm.world import RectangularWorld


class Script(Sensor):
    """Reads what it is told, step after step; the same for every agent."""

    def __init__(self, *states: Any) -> None:
        self.states = list(states)

    def sense(self, group: Group) -> AnyArray:
        return np.full(len(group), self.states.pop(0))


def actions(world: RectangularWorld) -> list[list[float]]:
    """The speeds and turns of the agents in the last step."""
    crowd = world.everyone
    return np.round(np.stack((crowd.linear, crowd.angular), axis=1), 9).tolist()


def history(controller: Any, states: list[int], steps: int, sensors: int = 1) -> list[list[float]]:
    """What one agent did in each step; each sensor reads one digit of each state."""
    scripts = [Script(*[state >> digit & 1 for state in states]) for digit in range(sensors)]
    world = make_world(controller, scripts, positions=[[2.5, 2.5]])
    done = []
    for _ in range(steps):
        world.step()
        done.append(actions(world)[0])
    return done


@pytest.mark.parametrize(
    "params", [{"a": [0.1, 0.2], "b": [0.3, -0.4]}, {"a": [[0.1, 0.2], [0.3, -0.4]]}, {"a": [0.1, 0.2, 0.3, -0.4]}]
)
def test_binary_goes_by_the_reading_of_the_step_before(params: dict[str, Any]) -> None:
    off, on = [0.1, 0.2], [0.3, -0.4]
    assert history({"type": "binary", **params}, [1, 0, 1, 0], 4) == [off, on, off, on]


def test_binary_averages_readings() -> None:
    off, on = [0.1, 0.0], [0.2, 0.0]
    spec = {"type": "binary", "a": off, "b": on, "sense_avg_time": 3}
    # Of the readings known (0), (0 1), (0 1 0), (1 0 0), (0 0 1), (0 1 1), at least half were detections.
    assert history(spec, [1, 0, 0, 1, 1, 0], 6) == [off, on, off, off, off, on]


@pytest.mark.parametrize("outputs", [[[0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.4, 0.0]], None])
def test_multibit_takes_the_first_sensor_as_the_last_digit(outputs: Any) -> None:
    if outputs is None:
        outputs = {"00": [0.1, 0.0], "01": [0.2, 0.0], 2: [0.3, 0.0], "11": [0.4, 0.0]}
    done = history({"type": "multibit_binary", "outputs": outputs}, [1, 2, 3, 0, 0], 5, sensors=2)
    assert [speed for speed, _ in done] == [0.1, 0.2, 0.3, 0.4, 0.1]


def test_multibit_has_a_default() -> None:
    spec = {"type": "multibit_binary", "outputs": {1: [0.2, 0.0]}, "default_output": [0.5, 1.0], "sensor_ids": [1]}
    assert [speed for speed, _ in history(spec, [1, 2, 3, 0], 4, sensors=2)] == [0.5, 0.5, 0.2, 0.2]
    with pytest.raises(FleetSimError, match="no action for 0 \\(00\\); add it, or a default_output"):
        MultibitBinaryController({1: [0.0, 0.0]}, sensor_ids=[0, 1])
    with pytest.raises(FleetSimError, match="has an action for 2, but 1 sensors end at 1"):
        MultibitBinaryController([[0, 0]] * 3, sensor_ids=[0])


def test_a_sensor_that_does_not_exist_is_named() -> None:
    world = make_world({"type": "binary", "a": [0, 0], "b": [0, 0], "sensor_id": 2}, ["static"])
    with pytest.raises(FleetSimError, match="sensor_id 2 does not exist; these agents have 1 sensors"):
        world.step()
    world = make_world({"type": "binary", "a": [0, 0], "b": [0, 0]}, ["targeter"])
    with pytest.raises(FleetSimError, match="a binary one is needed"):
        world.step()
    world = make_world({"type": "waypoint_pid", "sensor_id": 0}, ["static"])
    with pytest.raises(FleetSimError, match="does not read positions"):
        world.step()


@pytest.mark.parametrize("given", [[1.0], [[1, 2]], "ab", [1, 2, 3, float("nan")]])
def test_binary_needs_two_actions(given: Any) -> None:
    with pytest.raises(FleetSimError, match="a must hold both actions"):
        BinaryController(given)


@pytest.mark.parametrize("params", [{}, {"static_waypoint": [1, 1], "sensor_id": 0}])
def test_orca_has_one_kind_of_goal(params: dict[str, Any]) -> None:
    with pytest.raises(FleetSimError, match="give one of static_waypoint, waypoints and sensor_id"):
        make_world({"type": "orca", **params})
