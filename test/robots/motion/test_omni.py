"""The omnidirectional law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import Fleet

from fleet_sim.base.spatial.quaternions import conjugate, from_eulers, from_yaws, rotate

coordinate = st.floats(-5.0, 5.0)
point = st.tuples(coordinate, coordinate, coordinate)


def test_arrives_with_the_bits_of_the_goal_and_at_rest() -> None:
    fleet = Fleet()
    goal = [1.0 / 3.0, -7.1, 0.123]
    fleet.send(goal, yaws=2.5)
    fleet.finish()
    world = fleet.world
    assert world.position[0].tolist() == goal
    assert world.orientation[0].tolist() == from_yaws(np.array([2.5]))[0].tolist()
    for column in (
        world.velocity,
        world.angular_velocity,
        fleet.motion.body_linear,
        fleet.motion.body_angular,
    ):
        assert not column[0].any()
    assert fleet.motion.reached[0] and not fleet.motion.control[0] and not fleet.motion.path_length[0]


def test_orientation_is_kept_without_align_final() -> None:
    fleet = Fleet()
    fleet.send([1.0, 0.0, 0.0], yaws=1.0, align_final=False)
    fleet.finish()
    assert fleet.world.orientation[0].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_turning_alone_counts_as_a_goal() -> None:
    fleet = Fleet()
    fleet.send([0.0, 0.0, 0.0], yaws=3.0)
    steps = fleet.finish()
    assert 13 <= steps <= 15  # 3 rad at 3 rad/s and 10 rad/s2: 1.3 s
    assert fleet.record.spin_speeds().max() <= 3.0 * (1 + 1e-9)


def test_full_3d_orientation() -> None:
    fleet = Fleet()
    goal = from_eulers(np.array([[0.3, -0.4, 2.0]]))
    fleet.send([1.0, 0.0, 0.0])
    fleet.world.waypoints.orientation[fleet.world.waypoints.of(fleet.motion, 0)] = goal
    fleet.finish()
    assert fleet.world.orientation[0].tolist() == goal[0].tolist()


@settings(max_examples=12, deadline=None)
@given(goals=st.lists(st.tuples(point, st.floats(-3.1, 3.1), st.integers(3, 12)), min_size=1, max_size=3))
def test_axis_limits_hold_in_the_body_frame(
    goals: list[tuple[tuple[float, float, float], float, int]],
) -> None:
    axes = np.array([[1.5, 0.5, 0.8]])
    fleet = Fleet(linear_speed=axes, linear_accel=np.array([[5.0, 2.0, 3.0]]))
    for goal, yaw, steps in goals:
        fleet.send(goal, yaws=yaw)
        fleet.step(steps)
        fleet.motion.control[0] = 0
        fleet.world.velocity[0] = 0.0
        fleet.world.angular_velocity[0] = 0.0
        fleet.record.velocities[-1][:] = 0.0
    fleet.send(goals[-1][0], yaws=goals[-1][1])
    fleet.finish()
    for velocity, orientation in zip(fleet.record.velocities, fleet.record.orientations, strict=True):
        body = rotate(conjugate(orientation), velocity)
        assert (np.abs(body) <= axes * (1 + 1e-9) + 1e-9).all()


def test_an_axis_that_cannot_move_is_not_held_up_by_rounding() -> None:
    fleet = Fleet(linear_speed=np.array([[1.0, 1.0, 0.0]]))
    fleet.send([2.0, 1.0, 1e-14])
    fleet.finish()
    assert fleet.world.position[0].tolist() == [2.0, 1.0, 1e-14]


def test_velocity_columns_are_true_in_both_frames() -> None:
    fleet = Fleet()
    fleet.world.orientation[0] = from_yaws(np.array([0.5 * np.pi]))[0]
    fleet.send([4.0, 0.0, 0.0], yaws=0.5 * np.pi)
    fleet.step(8)
    assert np.allclose(fleet.world.velocity[0], [2.0, 0.0, 0.0], atol=1e-12)
    assert np.allclose(fleet.motion.body_linear[0], [0.0, -2.0, 0.0], atol=1e-12)


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


def test_infinite_acceleration_moves_at_full_speed() -> None:
    fleet = Fleet(linear_accel=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() <= 51
    assert fleet.record.speeds().max() == 2.0


def test_without_any_limit_the_goal_is_reached_in_one_step() -> None:
    fleet = Fleet(linear_speed=np.inf, linear_accel=np.inf, angular_speed=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() == 1
