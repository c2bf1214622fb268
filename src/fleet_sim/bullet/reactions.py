"""Forces and torques that act in joints, as the engine's joint sensors measure them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.core.robot_model import PRISMATIC, REVOLUTE
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import quaternions

NOT_MEASURED = (np.nan,) * 6


@saved
class MeasuredJoint(NamedTuple):
    """A joint of an entity: its row and generation, and the index of the joint, which is that of its link."""

    row: int
    generation: int
    joint: int


class JointReactions:
    """Measures the wrenches of chosen joints in each step of physics; the engine's sensors are enabled for those only.

    A wrench is what the parent applies to the link: a force and a torque about the origin of the link frame, (6,), in
    that frame. The engine gives it about the centre of mass and without what the motor applies; both are taken back.
    """

    def __init__(self, bodies: BulletBodies) -> None:
        self._bodies = bodies
        self._enabled: dict[MeasuredJoint, int] = {}
        """When the body was made whose sensor is enabled, by joint; -1: not yet."""
        self._wrenches: dict[MeasuredJoint, tuple[float, ...]] = {}

    def want(self, rows: Rows, joints: Ints) -> None:
        """Measure `joints` (N,) of `rows` (N,) from the next step on."""
        for key in self._keys(rows, joints):
            self._enabled.setdefault(key, -1)

    def wants(self, row: int, joint: int) -> bool:
        """Return whether a joint of `row` is measured."""
        return MeasuredJoint(row, int(self._bodies.world.generation[row]), joint) in self._enabled

    def wrenches(self, rows: Rows, joints: Ints) -> Floats:
        """Return the wrenches (N, 6) in the last step; NaN where there was none, or the engine did not move the row."""
        known = [self._wrenches.get(key, NOT_MEASURED) for key in self._keys(rows, joints)]
        return np.array(known, np.float64).reshape(-1, 6)

    def prepare(self) -> None:
        """Enable the engine's sensors of wanted joints, before its step."""
        if not self._enabled:
            return
        world, table = self._bodies.world, self._bodies.table
        for key, made in list(self._enabled.items()):
            if not world.is_live(key.row, key.generation):
                del self._enabled[key]
            elif table.body[key.row] != NO_BODY and made != table.made[key.row]:
                self._bodies.client.enableJointForceTorqueSensor(int(table.body[key.row]), key.joint, True)
                self._enabled[key] = int(table.made[key.row])

    def measure(self) -> None:
        """Read the wanted joints, after the engine's step."""
        if self._enabled or self._wrenches:
            world = self._bodies.world
            # Of those that the engine did not move it would give what it measured last.
            keys = [key for key, made in self._enabled.items() if made >= 0 and world.dynamic[key.row]]
            self._wrenches = {key: tuple(self._read(key)) for key in keys}

    def _read(self, key: MeasuredJoint) -> list[float]:
        """Return force (N) and torque (N m) between a joint's links, six numbers in the frame of the joint.

        PyBullet tells the reaction at the center of mass, without what the motor does; both are put right here.
        """
        client, world = self._bodies.client, self._bodies.world
        body, model = int(self._bodies.table.body[key.row]), world.models[int(world.robots.model[key.row])]
        _, _, reaction, applied = client.getJointState(body, key.joint)
        dynamics = client.getDynamicsInfo(body, key.joint)
        centre, turn = np.array(dynamics[3]), np.array([dynamics[4]])
        force, torque = (quaternions.rotate(turn, np.array([part]))[0] for part in (reaction[:3], reaction[3:]))
        axis, kind = model.axes[key.joint], int(model.joint_types[key.joint])
        if kind == PRISMATIC:
            force = force + applied * axis
        elif kind == REVOLUTE:
            torque = torque + applied * axis
        torque = torque + np.cross(centre, force)
        return [*force.tolist(), *torque.tolist()]

    def _keys(self, rows: Rows, joints: Ints) -> list[MeasuredJoint]:
        generations = self._bodies.world.generation[rows]
        return [MeasuredJoint(*key) for key in zip(rows.tolist(), generations.tolist(), joints.tolist(), strict=True)]

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the last wrenches."""
        return dict(self._wrenches)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self._wrenches = dict(saved)
