"""The registry of laws."""

import numpy as np
import pytest
from motion_fleet import Fleet

from fleet_sim.base.arrays import NO_ROWS, Rows
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, UnknownNameError
from fleet_sim.robots.motion.laws import motion_law, motion_law_index, motion_law_names, register_motion_law
from fleet_sim.world.world import World


class Jump:
    """Goes to the goal at once."""

    name = "jump"

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        motion = world.motion
        world.position[rows] = world.waypoints.position[motion.path_start[rows] + motion.path_length[rows] - 1]
        world.touch(rows)
        return rows


def test_a_law_of_ones_own() -> None:
    if Jump.name not in motion_law_names():
        register_motion_law(Jump.name, Jump())
    fleet = Fleet(Jump.name, count=2)
    fleet.motion.law[0] = motion_law_index("omnidirectional")
    fleet.send([1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert fleet.step().tolist() == [1]
    assert fleet.world.position[1].tolist() == [1.0, 0.0, 0.0]
    assert fleet.motion.reached[1] and not fleet.motion.reached[0]
    with pytest.raises(DuplicateNameError):
        register_motion_law(Jump.name, Jump())


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match="differential"):
        motion_law_index("diferential")
    with pytest.raises(InvalidValueError):
        motion_law(0)
    with pytest.raises(InvalidValueError):
        register_motion_law("nothing", object())  # type: ignore[arg-type]
    assert not len(NO_ROWS) and isinstance(NO_ROWS, np.ndarray)
