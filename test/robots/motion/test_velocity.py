"""Velocity commands."""

import numpy as np
from motion_fleet import Fleet

from fleet_sim.world.steering import give_velocities


def command(fleet: Fleet, linear: list[float], angular: list[float]) -> None:
    give_velocities(fleet.world, fleet.rows, np.array([linear]), np.array([angular]))


def test_an_axis_that_cannot_move_does_not_stop_the_others() -> None:
    fleet = Fleet(linear_speed=np.array([[1.0, 0.0, 0.0]]))
    command(fleet, [0.8, 0.1, 0.0], [0.0, 0.0, 0.0])
    fleet.step(5)
    assert fleet.motion.body_linear[0].tolist() == [0.8, 0.0, 0.0]


def test_a_fresh_command_puts_the_timeout_off() -> None:
    fleet = Fleet()
    fleet.motion.command_timeout[0] = 0.3
    for _ in range(10):
        command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        fleet.step(2)
    assert fleet.record.speeds()[-1, 0] == 1.0


def test_a_zero_command_ends_idle() -> None:
    fleet = Fleet()
    command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    fleet.step(5)
    command(fleet, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert fleet.finish() == 2
    assert not fleet.motion.reached[0]
