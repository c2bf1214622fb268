"""The differential law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import DIFFERENTIAL, Fleet

from fleet_sim.base.params import MovementDirection
from fleet_sim.base.spatial.quaternions import from_eulers, from_yaws, to_eulers, yaws

FORWARD, BACKWARD, AUTO = (direction.code for direction in MovementDirection)


def test_climbs_in_a_straight_line_and_keeps_roll_and_pitch() -> None:
    fleet = Fleet(DIFFERENTIAL)
    fleet.world.orientation[0] = from_eulers(np.array([[0.1, -0.2, 0.0]]))[0]
    fleet.send([0.0, 4.0, 2.0], align_final=False)
    fleet.finish()
    roll, pitch, yaw = to_eulers(fleet.world.orientation[:1])[0]
    assert fleet.world.position[0].tolist() == [0.0, 4.0, 2.0]
    assert (roll, pitch) == pytest.approx((0.1, -0.2))
    assert yaw == pytest.approx(np.pi / 2)
    _x, y, z = np.array(fleet.record.positions)[:, 0].T
    assert np.abs(z - y / 2).max() < 1e-12


def test_a_goal_above_needs_no_heading() -> None:
    fleet = Fleet(DIFFERENTIAL)
    fleet.send([0.0, 0.0, 1.0], align_final=False)
    fleet.finish()
    assert fleet.world.orientation[0].tolist() == [0.0, 0.0, 0.0, 1.0]


@settings(max_examples=12, deadline=None)
@given(
    goals=st.lists(
        st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.floats(-3, 3), st.integers(1, 15)),
        min_size=2,
        max_size=5,
    ),
    direction=st.sampled_from([FORWARD, BACKWARD, AUTO]),
)
def test_new_goals_in_motion_respect_limits_and_never_slip(
    goals: list[tuple[float, float, float, int]], direction: int
) -> None:
    fleet = Fleet(DIFFERENTIAL)
    for x, y, yaw, steps in goals:
        fleet.send([x, y, 0.0], yaws=yaw, direction=direction)
        fleet.step(steps)
    fleet.finish()
    record = fleet.record
    assert fleet.world.position[0].tolist() == [goals[-1][0], goals[-1][1], 0.0]
    assert fleet.world.orientation[0].tolist() == from_yaws(np.array([goals[-1][2]]))[0].tolist()
    assert record.speeds().max() <= 2.0 * (1 + 1e-9)
    assert np.abs(np.diff(record.speeds(), axis=0)).max() <= 0.5 * (1 + 1e-8)
    assert record.spin_speeds().max() <= 3.0 * (1 + 1e-9)
    assert record.spin_changes().max() <= 1.0 * (1 + 1e-8)
    for velocity, orientation in zip(record.velocities, record.orientations, strict=True):
        yaw = yaws(orientation)[0]
        assert abs(velocity[0, 1] * np.cos(yaw) - velocity[0, 0] * np.sin(yaw)) < 1e-8
