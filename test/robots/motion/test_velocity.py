"""Velocity commands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import DIFFERENTIAL, OMNI, Fleet

from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial.quaternions import conjugate, from_eulers, rotate
from fleet_sim.world.steering import give_velocities, halt


def command(fleet: Fleet, linear: list[float], angular: list[float]) -> None:
    give_velocities(fleet.world, fleet.rows, np.array([linear]), np.array([angular]))


def test_a_constant_3d_twist_is_a_helix() -> None:
    fleet = Fleet()
    command(fleet, [1.0, 0.0, 0.5], [0.0, 0.0, 1.0])
    fleet.step(10)
    origin = fleet.world.position[0].copy()
    heading = 2.0 * np.arctan2(*fleet.world.orientation[0, 2:])
    fleet.step(20)
    end = heading + 2.0
    expected = origin + np.array([np.sin(end) - np.sin(heading), np.cos(heading) - np.cos(end), 1.0])
    assert np.abs(fleet.world.position[0] - expected).max() < 1e-9


def test_commands_are_in_the_body_frame() -> None:
    fleet = Fleet()
    fleet.world.orientation[0] = from_eulers(np.array([[0.0, 0.0, np.pi / 2]]))[0]
    command(fleet, [0.3, 0.0, 0.0], [0.0, 0.0, 0.0])
    fleet.step(3)
    assert fleet.world.velocity[0] == pytest.approx([0.0, 0.3, 0.0], abs=1e-12)
    assert fleet.motion.body_linear[0] == pytest.approx([0.3, 0.0, 0.0])


def test_an_axis_that_cannot_move_does_not_stop_the_others() -> None:
    fleet = Fleet(linear_speed=np.array([[1.0, 0.0, 0.0]]))
    command(fleet, [0.8, 0.1, 0.0], [0.0, 0.0, 0.0])
    fleet.step(5)
    assert fleet.motion.body_linear[0].tolist() == [0.8, 0.0, 0.0]


def test_a_timeout_stops_the_robot_within_the_limits() -> None:
    fleet = Fleet()
    fleet.motion.command_timeout[0] = 0.5
    command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    fleet.step(5)
    assert fleet.record.speeds()[-1, 0] == pytest.approx(1.0)
    fleet.step(2)
    assert fleet.record.speeds()[-1, 0] == 0.0
    assert fleet.motion.control[0] == ControllerMode.IDLE.code
    assert fleet.record.speed_changes().max() <= 0.5 * 1.25
    assert not fleet.world.angular_velocity[0].any()


def test_a_fresh_command_puts_the_timeout_off() -> None:
    fleet = Fleet()
    fleet.motion.command_timeout[0] = 0.3
    for _ in range(10):
        command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        fleet.step(2)
    assert fleet.record.speeds()[-1, 0] == 1.0


def test_without_a_timeout_a_command_holds() -> None:
    fleet = Fleet()
    command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    fleet.step(1000)
    assert fleet.record.speeds()[-1, 0] == 1.0


def test_a_zero_command_ends_idle() -> None:
    fleet = Fleet()
    command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    fleet.step(5)
    command(fleet, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert fleet.finish() == 2
    assert not fleet.motion.reached[0]


def test_halt_stops_at_once() -> None:
    fleet = Fleet()
    fleet.send([5.0, 0.0, 0.0])
    fleet.step(5)
    halt(fleet.world, fleet.rows)
    here = fleet.world.position[0].tolist()
    fleet.step(3)
    assert fleet.world.position[0].tolist() == here
    assert not fleet.world.velocity[0].any() and not fleet.motion.control[0]


@pytest.mark.parametrize("law", [OMNI, DIFFERENTIAL])
def test_a_goal_after_a_command_starts_from_the_present_motion(law: str) -> None:
    fleet = Fleet(law)
    command(fleet, [1.5, 0.5, 0.0], [0.0, 0.0, 2.0])
    fleet.step(10)
    fleet.send([-1.0, 2.0, 0.0], yaws=1.0)
    fleet.finish()
    assert fleet.world.position[0].tolist() == [-1.0, 2.0, 0.0]
    steps = fleet.record.spin_changes()
    assert steps.max() <= 1.0 * (1 + 1e-8)


twist = st.tuples(*[st.floats(-4.0, 4.0)] * 6)


@settings(max_examples=50, deadline=None)
@given(twists=st.lists(st.tuples(twist, st.integers(1, 6)), min_size=1, max_size=6))
def test_body_twist_changes_keep_the_limits(twists: list[tuple[tuple[float, ...], int]]) -> None:
    fleet = Fleet()
    body = [np.zeros(6)]
    for values, steps in twists:
        command(fleet, list(values[:3]), list(values[3:]))
        for _ in range(steps):
            fleet.step()
            body.append(np.concatenate((fleet.motion.body_linear[0], fleet.motion.body_angular[0])))
    change = np.diff(body, axis=0)
    assert np.linalg.norm(change[:, :3], axis=1).max() <= 0.5 * (1 + 1e-9)
    assert np.linalg.norm(change[:, 3:], axis=1).max() <= 1.0 * (1 + 1e-9)
    assert np.linalg.norm(np.array(body)[:, :3], axis=1).max() <= 2.0 * (1 + 1e-9)
    seen = rotate(conjugate(fleet.world.orientation[:1]), fleet.world.velocity[:1])
    assert np.allclose(seen, body[-1][:3], atol=1e-12)
