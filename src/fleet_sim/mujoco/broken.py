"""What the solver made no numbers of: an unstable body is put back where it was, and the others go on."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.world import World
from fleet_sim.mujoco.bodies import MujocoBodies
from fleet_sim.mujoco.state import restore_state, state_of

LARGEST = 1e12
"""Coordinates (m, rad) and speeds beyond this count as broken."""


def mend_broken(world: World, bodies: MujocoBodies) -> None:
    """Put bodies and joints that are no numbers any more back to where the columns have them, at rest; count them.

    To be called before the columns are read back. A sum of squares tells most of the time that all is well.
    """
    bound = bodies.bound
    assert bound is not None
    data = bound.data
    # Of squares, which is faster. Written this way round because NaN is neither above nor below anything.
    if float(data.qpos.dot(data.qpos)) <= LARGEST**2 and float(data.qvel.dot(data.qvel)) <= LARGEST**2:
        return
    free_mask = _is_broken(data.qpos[bound.free_q]).any(1) | _is_broken(data.qvel[bound.free_v]).any(1)
    joint_mask = _is_broken(data.qpos[bound.joint_q]) | _is_broken(data.qvel[bound.joint_v])
    robots = bound.joint_row[joint_mask]
    # A robot is put back as a whole.
    rows = bound.free[free_mask | np.isin(bound.free, robots)]
    slots = bound.slots[np.isin(bound.joint_row, np.union1d(robots, rows))]
    world.velocity[rows] = world.angular_velocity[rows] = 0.0
    world.joints.velocity[slots] = 0.0
    bodies.write(rows, rows[:0], slots)
    # What is left of it, such as the accelerations that the solver starts from, would break the next step.
    state = state_of(bound)
    for numbers in (state.vector, state.accelerations):
        numbers[_is_broken(numbers)] = 0.0
    restore_state(bound, state)
    for row in np.union1d(rows, robots).tolist():
        world.guard.note(f"physics of {world.label(row)}", "became unstable; it was stopped where it was before")


def _is_broken(values: Floats) -> Bools:
    broken_mask: Bools = ~(np.abs(values) <= LARGEST)
    return broken_mask
