"""The omnidirectional law."""

import numpy as np
import pytest
from motion_fleet import Fleet


def test_an_axis_that_cannot_move_is_not_held_up_by_rounding() -> None:
    fleet = Fleet(linear_speed=np.array([[1.0, 1.0, 0.0]]))
    fleet.send([2.0, 1.0, 1e-14])
    fleet.finish()
    assert fleet.world.position[0].tolist() == [2.0, 1.0, 1e-14]


def test_only_rows_that_moved_are_touched() -> None:
    fleet = Fleet(count=3)
    fleet.world.moved[:] = False
    fleet.send([1.0, 0.0, 0.0])
    fleet.step()
    assert fleet.world.moved[fleet.rows].tolist() == [True, False, False]


@pytest.mark.parametrize("column", ["parent", "law"])
def test_attached_and_immobile_rows_stay(column: str) -> None:
    fleet = Fleet(count=2)
    fleet.send([1.0, 0.0, 0.0])
    if column == "parent":
        fleet.world.parent[0] = 1
    else:
        fleet.motion.law[0] = 0
    fleet.step(3)
    assert not fleet.world.position[0].any()


def test_without_any_limit_the_goal_is_reached_in_one_step() -> None:
    fleet = Fleet(linear_speed=np.inf, linear_accel=np.inf, angular_speed=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() == 1
