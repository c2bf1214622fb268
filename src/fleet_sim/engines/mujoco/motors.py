"""Motors of joints, as PyBullet has them: they change the velocity in each substep, with a limited force."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, span_of
from fleet_sim.engines.mujoco.bound import Bound
from fleet_sim.world.joints import AT_FORCE, AT_VELOCITY
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

FEW = 24
"""Joints up to which numbers in lists take less time than arrays do."""


class _Orders(NamedTuple):
    """What the motors of all joints (J,) are to do during a step; no mask where it would hold none of them."""

    target: Floats
    command: Floats
    position_gain: Floats
    velocity_gain: Floats
    most: Floats
    least: Floats
    at_velocity: Bools | None
    off: Bools | None

    def velocities(self, positions: Floats, speeds: Floats, dt: float) -> Floats:
        """Return the velocities (J,) to aim at in a substep that begins with these positions and velocities."""
        aims = self.position_gain * (self.target - positions) / dt + speeds - self.velocity_gain * speeds
        aims = np.minimum(np.maximum(aims, self.least), self.most)
        if self.at_velocity is not None:
            rates = speeds + self.velocity_gain * (self.command - speeds)
            aims[self.at_velocity] = rates[self.at_velocity]
        if self.off is not None:
            aims[self.off] = 0.0
        return aims

    def one_by_one(self) -> list[_Order]:
        """Return what the motor of each joint is to do, as numbers."""
        none = np.zeros(len(self.target), np.bool_)
        masks = (none if mask is None else mask for mask in (self.at_velocity, self.off))
        columns = self.target, self.command, self.position_gain, self.velocity_gain, self.most, self.least, *masks
        return list(zip(*(column.tolist() for column in columns), strict=True))


_Order: TypeAlias = tuple[float, float, float, float, float, float, bool, bool]
"""The values of the fields of `_Orders` for one joint."""


def _accelerations(orders: list[_Order], positions: list[float], speeds: list[float], dt: float) -> list[float]:
    """Return the accelerations that lead to the velocities of `_Orders.velocities` in a substep: the same bits."""
    found = []
    for order, position, speed in zip(orders, positions, speeds, strict=True):
        target, command, position_gain, velocity_gain, most, least, at_velocity, off = order
        if off:
            aim = 0.0
        elif at_velocity:
            aim = speed + velocity_gain * (command - speed)
        else:
            aim = position_gain * (target - position) / dt + speed - velocity_gain * speed
            # What is no number stays so. `min` and `max` would take a third of the time of all.
            if aim > most:
                aim = most
            elif aim < least:
                aim = least
        found.append((aim - speed) / dt)
    return found


class MujocoMotors:
    """The motors of the joints of one model.

    A motor is the friction of its joint, towards a velocity that is not 0: MuJoCo solves it together with contacts. A
    motor that is strong enough holds its velocity exactly, and a weak one gives way at its force.
    """

    def __init__(self, world: World, bound: Bound) -> None:
        self._bound = bound
        self.world = world
        joints = world.joints
        numbers = world.robots.model[bound.joint_row]
        models = [world.models[number] for number in numbers.tolist()]
        slots = bound.compiled.joints[:, 1].tolist()
        own = [float(model.friction[model.movable[slot]]) for model, slot in zip(models, slots, strict=True)]
        self._friction: Floats = np.array(own, np.float64)
        """Of the joints themselves (J,), from their files."""
        self._mimics = (joints.leader[bound.slots] != NO_ROW) & world.robots.mimics[bound.joint_row]
        self.efforts: Floats = np.zeros(len(own))
        """Forces (J,) of the motors in the last substep, in N or N m."""
        # Of one robot they follow each other: slices give views, which are cheaper than copies.
        self._slots, self._q, self._v = span_of(bound.slots), span_of(bound.joint_q), span_of(bound.joint_v)
        # Which joint each velocity of the model is of; those of free bodies have no friction, and are never asked for.
        self._joint_of_dof = np.zeros(bound.model.nv, np.int64)
        self._joint_of_dof[bound.joint_v] = np.arange(len(own))
        self._found: Ints = np.empty(0, np.int64)
        self._found_from = b""
        """The joints with a motor, in the order of their constraints, and the bytes from which they were found."""
        self._one_by_one: list[_Order] = []
        """The orders of each joint, where there are few."""
        self._prepared_from: tuple[bytes, ...] = ()
        """The columns that the orders were made from, as bytes."""

    def fits(self, bound: Bound) -> bool:
        """Return whether these are the motors of `bound`."""
        return self._bound is bound

    def prepare(self) -> None:
        """Set what stays during a step: the forces that motors have, and those that are commanded."""
        bound, joints = self._bound, self.world.joints
        if not len(bound.slots):
            return
        slots = self._slots
        columns: tuple[AnyArray, ...] = (
            joints.control,
            joints.command,
            joints.max_force,
            joints.force_limit,
            joints.target,
        )
        columns += (joints.position_gain, joints.velocity_gain, joints.max_velocity)
        prepared_from = tuple([column[slots].tobytes() for column in columns])
        if prepared_from != self._prepared_from:
            self._take_orders()
            self._prepared_from = prepared_from
        bound.data.qfrc_applied[self._v] = self._commanded
        joints.motor_behind[slots] = False

    def _take_orders(self) -> None:
        """Set what follows from the columns of the joints."""
        joints, slots = self.world.joints, self._slots
        control, command, most = joints.control[slots], joints.command[slots], joints.max_velocity[slots]
        forced, at_velocity = control == AT_FORCE, control == AT_VELOCITY
        # The motors of followers are off: gears hold them to their leaders.
        off = forced | self._mimics
        limits = np.minimum(joints.max_force[slots], joints.force_limit[slots])
        self._bound.model.dof_frictionloss[self._v] = np.where(off, self._friction, limits)
        self._commanded = np.where(forced & ~self._mimics, command, 0.0)
        # Copies, as a slice of slots gives views.
        self._orders = _Orders(
            joints.target[slots].copy(),
            command.copy(),
            joints.position_gain[slots].copy(),
            joints.velocity_gain[slots].copy(),
            most.copy(),
            -most,
            at_velocity if at_velocity.any() else None,
            off if off.any() else None,
        )
        self._one_by_one = self._orders.one_by_one() if len(most) <= FEW else []

    def aim(self, dt: float) -> None:
        """Let the motors aim at the velocities of this substep; called when its constraints are known."""
        bound = self._bound
        data = bound.data
        if not len(bound.slots):
            return
        # Constraints are in this order: of gears, of friction, of limits, of contacts. No tendon has friction here.
        first = int(data.ne)
        self._places = slice(first, first + int(data.nf))
        ids = data.efc_id[self._places]
        found_from = ids.tobytes()
        if found_from != self._found_from:
            self._found, self._found_from = self._joint_of_dof[ids], found_from
        positions, speeds = data.qpos[self._q], data.qvel[self._v]
        if self._one_by_one:
            wanted = _accelerations(self._one_by_one, positions.tolist(), speeds.tolist(), dt)
            data.efc_aref[self._places] = [wanted[joint] for joint in self._found.tolist()]
            return
        aims = self._orders.velocities(positions, speeds, dt)
        data.efc_aref[self._places] = ((aims - speeds) / dt)[self._found]

    def measure(self) -> None:
        """Read the forces of the substep that was made."""
        if not len(self.efforts):
            return
        self.efforts = self._commanded.copy()
        self.efforts[self._found] += self._bound.data.efc_force[self._places]
