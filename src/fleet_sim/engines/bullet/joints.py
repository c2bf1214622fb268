"""Synchronises joints between columns and PyBullet: writes them, reads them back, and commands the engine's motors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.world.joints import AT_FORCE, AT_VELOCITY, RAW_MOTOR
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.world import World

GEAR_ERP, GEAR_FORCE = 0.2, 1e4
"""Of the gears of mimic joints: the share of an error corrected in a substep, and the maximum force in N or N m."""


class BulletJoints:
    """The joints of the bodies of one world, by row. Rows must have bodies; rows without joints are skipped."""

    def __init__(
        self,
        world: World,
        client: BulletClient,
        body_of_row: Callable[[], Ints],
        raw_motor: Callable[[int, int], Mapping[str, Any]],
    ) -> None:
        """`body_of_row()` returns the column of PyBullet bodies, `raw_motor(row, joint)` a command of the user's own.

        Such a command has its function under "function", and otherwise the arguments of that.
        """
        self.world = world
        self.client = client
        self._body_of_row = body_of_row
        self._raw_motor = raw_motor
        self.gears: set[int] = set()
        """The constraints that hold mimic joints to their leaders."""
        self._indices: dict[int, list[int]] = {}

    def write(self, rows: Rows, positions: Floats, velocities: Floats | None = None) -> None:
        """Set the joints of `rows` to `positions`, at rest or with `velocities`; both are columns, by slot.

        Joints driven by motors get the velocities of the world's columns instead of rest.
        """
        client = self.client
        for model, members, slots in self._groups(rows):
            values = positions[slots][..., None].tolist()
            if velocities is not None:
                speeds = velocities[slots]
            else:
                speeds = np.where(self.world.robots.motors[members][:, None], self.world.joints.velocity[slots], 0.0)
            bodies = self._body_of_row()[members].tolist()
            # It wants a list of values for each joint, but sets all joints of a body in one call.
            reset = client.module.resetJointStatesMultiDof
            indices, rates = repeat(self._movable(model)), speeds[..., None].tolist()
            deque(map(reset, bodies, indices, values, rates, repeat(client.id)), maxlen=0)

    def read_back(self, rows: Rows) -> None:
        """Copy positions, velocities and efforts of the joints of `rows` from PyBullet into the columns."""
        client, world = self.client, self.world
        joints = world.joints
        moved: list[Rows] = []
        for model, members, slots in self._groups(rows):
            bodies = self._body_of_row()[members].tolist()
            states = list(map(client.module.getJointStates, bodies, repeat(self._movable(model)), repeat(client.id)))
            flat = np.array([[(state[0], state[1], state[3]) for state in robot] for robot in states], np.float64)
            changed_mask = (flat[..., 0] != joints.position[slots]).any(axis=1)
            joints.position[slots], joints.velocity[slots] = flat[..., 0], flat[..., 1]
            # The engine does not count the forces that it was told to apply.
            joints.effort[slots] = flat[..., 2] + np.where(
                joints.control[slots] == AT_FORCE, joints.command[slots], 0.0
            )
            moved.append(members[changed_mask])
        if moved:
            world.touch_joints(np.concatenate(moved))
            # `touch_joints` has just set it, but these positions come from PyBullet itself.
            world.robots.joints_behind[rows] = False

    def send_commands(self, rows: Rows) -> None:
        """Send motor commands of `rows` that changed in the columns since they were last sent."""
        joints = self.world.joints
        slots = joints.slots(self.world.robots, rows)
        # Followers are held to their leaders by gears.
        slots = slots[joints.motor_behind[slots] & (joints.leader[slots] == NO_ROW)]
        for slot in slots.tolist():
            self._send(slot)
        joints.motor_behind[slots] = False

    def forced(self, rows: Rows) -> list[tuple[int, list[int], list[float]]]:
        """Return (body, joints, forces) of `rows` with force-controlled motors, which must be sent in each substep."""
        joints, robots = self.world.joints, self.world.robots
        slots = joints.slots(robots, rows)
        slots = slots[(joints.control[slots] == AT_FORCE) & (joints.command[slots] != 0.0)]
        found: list[tuple[int, list[int], list[float]]] = []
        for row in np.unique(joints.robot[slots]).tolist():
            own = slots[joints.robot[slots] == row]
            model = self.world.models[int(robots.model[row])]
            indices = model.movable[own - int(robots.joint_start[row])]
            found.append((int(self._body_of_row()[row]), indices.tolist(), joints.command[own].tolist()))
        return found

    def prepare(self, row: int) -> None:
        """Prepare a newly loaded body: without motors and masses for a kinematic row, or ready for motor commands.

        Without mass the links of a kinematic robot move exactly by their velocities, whatever is in their way.
        """
        world, client = self.world, self.client
        body, model = int(self._body_of_row()[row]), world.models[int(world.robots.model[row])]
        movable = self._movable(model)
        span = world.joints.of(world.robots, row)
        # What has no joints has no motors, and falls as a whole.
        if world.dynamic[row] and (world.robots.motors[row] or not movable):
            world.joints.motor_behind[span] = True
            if world.robots.mimics[row]:
                self._gear(body, model)
            return
        for link in range(-1, model.num_joints):
            client.changeDynamics(body, link, mass=0.0, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0)
        if movable:
            client.setJointMotorControlArray(body, movable, client.VELOCITY_CONTROL, forces=[0.0] * len(movable))

    def _gear(self, body: int, model: RobotModel) -> None:
        """Hold mimic joints to their leaders, and switch off their own motors but for friction."""
        client = self.client
        for mimic in model.mimics:
            friction = float(model.friction[mimic.follower])
            client.setJointMotorControl2(
                body, mimic.follower, client.VELOCITY_CONTROL, targetVelocity=0.0, force=friction
            )
            gear = client.createConstraint(
                body, mimic.follower, body, mimic.leader, client.JOINT_GEAR, (1, 0, 0), (0, 0, 0), (0, 0, 0)
            )
            self.gears.add(int(gear))
            # Of the engine's making: its ratio is that of the leader to the follower, with the sign turned.
            client.changeConstraint(
                gear,
                gearRatio=-mimic.multiplier,
                relativePositionTarget=mimic.offset,
                erp=GEAR_ERP,
                maxForce=GEAR_FORCE,
            )

    def _send(self, slot: int) -> None:
        """Give PyBullet the motor command of one joint: a force, a velocity, or a position.

        `slot` is its place in the table of joints. Forces are cut to the smaller of the model's and the command's
        limit, in N or N m.
        """
        world, client = self.world, self.client
        joints, robots = world.joints, world.robots
        row = int(joints.robot[slot])
        model = world.models[int(robots.model[row])]
        joint = int(model.movable[slot - int(robots.joint_start[row])])
        body, control = int(self._body_of_row()[row]), int(joints.control[slot])
        force = min(float(joints.max_force[slot]), float(joints.force_limit[slot]))
        gain = float(joints.velocity_gain[slot])
        if control == RAW_MOTOR:
            # PyBullet keeps the fastest speed of a motor that goes to a position, until it gets a velocity.
            client.setJointMotorControl2(body, joint, client.VELOCITY_CONTROL, targetVelocity=0.0, force=0.0)
            given = dict(self._raw_motor(row, joint))
            getattr(client, given.pop("function"))(body, joint, **given)
        elif control == AT_FORCE:
            # The velocity motor is used only for the joint's own friction; the force itself is sent in each substep.
            friction = float(model.friction[joint])
            client.setJointMotorControl2(body, joint, client.VELOCITY_CONTROL, targetVelocity=0.0, force=friction)
        elif control == AT_VELOCITY:
            speed = float(joints.command[slot])
            client.setJointMotorControl2(
                body, joint, client.VELOCITY_CONTROL, targetVelocity=speed, force=force, velocityGain=gain
            )
        else:
            client.setJointMotorControl2(
                body,
                joint,
                client.POSITION_CONTROL,
                targetPosition=float(joints.target[slot]),
                targetVelocity=0.0,
                force=force,
                positionGain=float(joints.position_gain[slot]),
                velocityGain=gain,
                maxVelocity=float(joints.max_velocity[slot]),
            )

    def _groups(self, rows: Rows) -> Iterator[tuple[RobotModel, Rows, Ints]]:
        """Yield (model, its rows (N,), their slots (N, M)) for the `rows` that have joints."""
        robots = self.world.robots
        rows = rows[robots.joint_count[rows] > 0]
        numbers = robots.model[rows]
        for number in np.unique(numbers).tolist():
            members = rows[numbers == number]
            model = self.world.models[number]
            yield model, members, robots.joint_start[members][:, None] + np.arange(len(model.movable))

    def _movable(self, model: RobotModel) -> list[int]:
        # The world keeps its models for ever, so an id is never used again.
        key = id(model)
        indices = self._indices.get(key)
        if indices is None:
            indices = self._indices[key] = model.movable.tolist()
        return indices
