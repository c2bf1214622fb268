"""Bodies from robot description files (URDF, SDF and MJCF), their dynamics, and the motors of their joints."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows, is_finite
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import to_read
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.shapes import check_file, renew_meshes
from fleet_sim.world.joints import AT_FORCE, AT_VELOCITY, RAW_MOTOR
from fleet_sim.world.schema import NO_ROW, UNIT_QUATERNION
from fleet_sim.world.shapes import BodyShape, RobotModel
from fleet_sim.world.world import World

_UNPLACED = (".sdf", ".xml", ".mjcf")
"""Formats that PyBullet loads only at the pose which the file gives."""


class LoadedModel(NamedTuple):
    """A body, and the pose of its base's centre of mass in the base frame."""

    body: int
    com_position: Floats
    com_orientation: Floats

    @property
    def has_offset(self) -> bool:
        """Whether the centre of mass differs from the base frame."""
        return bool(self.com_position.any() or (self.com_orientation != UNIT_QUATERNION).any())


def load_model(
    client: BulletClient,
    shape: BodyShape,
    mass: float,
    position: Floats,
    orientation: Floats,
    *,
    visuals: bool,
    inertia_from_file: bool = False,
    self_collision: bool = False,
    model: RobotModel | None = None,
) -> LoadedModel:
    """Load `shape.model_path` with its base link frame at a world pose (3,), (4,).

    The base is fixed where the shape says so or `mass` is 0, so that no physics moves it. The model's own masses are
    kept, or scaled to `mass` in all where it is another than theirs. Inertias are worked out from collision shapes, or
    with `inertia_from_file` those of a URDF file. With `self_collision` links that no joint joins push each other.
    Raises InvalidValueError for a missing or unusable
    file, one that holds not exactly one model, or whose joints are not those of `model`.
    """
    path = shape.model_path
    check_file(path, "model")
    fixed = shape.fixed_base or mass == 0.0
    flags = _flags(client, visuals, inertia_from_file, self_collision and mass > 0.0)
    if model is not None:
        # Before loading: PyBullet keeps meshes by file name, and the file may have changed since.
        renew_meshes(client, model)
    pose = position.tolist(), orientation.tolist()
    body = _only_body(client, path, *pose, useFixedBase=fixed, flags=flags, globalScaling=shape.scale)
    loaded = LoadedModel(body, *inertial_frame(client, body))
    # loadMJCF and loadSDF take no flag for a fixed base either.
    if Path(path).suffix.lower() in _UNPLACED:
        _place(client, loaded, position, orientation)
        if fixed:
            client.changeDynamics(body, -1, mass=0.0)
    if model is not None:
        _check_joints(client, body, model)
        if mass > 0.0:
            _scale_masses(client, body, model, mass)
    return loaded


def _flags(client: BulletClient, visuals: bool, inertia_from_file: bool, self_collision: bool) -> int:
    flags = 0 if visuals else client.URDF_IGNORE_VISUAL_SHAPES
    if inertia_from_file:
        flags |= client.URDF_USE_INERTIA_FROM_FILE
    if self_collision:
        # Without the second flag, links of one joint, which overlap where they meet, would push each other.
        flags |= client.URDF_USE_SELF_COLLISION | client.URDF_USE_SELF_COLLISION_EXCLUDE_PARENT
    return int(flags)


def _only_body(client: BulletClient, path: str, *urdf_pose: list[float], **urdf_options: float) -> int:
    """Load the one model in `path` and return its body; raises InvalidValueError where it cannot, or has several.

    A URDF file is loaded at `urdf_pose` with `urdf_options`, which files of other formats do not take.
    """
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".sdf":
            bodies = client.loadSDF(str(to_read(path)))
        elif suffix in _UNPLACED:
            bodies = client.loadMJCF(str(to_read(path)))
        else:
            bodies = (client.loadURDF(str(to_read(path)), *urdf_pose, **urdf_options),)
    except client.module.error as error:
        raise InvalidValueError(f"PyBullet cannot load the model file {path!r}: {error}") from error
    if len(bodies) != 1:
        # None is left behind that stands for no entity.
        for body in bodies:
            client.removeBody(body)
        raise InvalidValueError(
            f"the model file {path!r} has {len(bodies)} models; an object or agent needs exactly one, so split the file"
        )
    return int(bodies[0])


def _check_joints(client: BulletClient, body: int, model: RobotModel) -> None:
    """Remove `body` and raise InvalidValueError unless its joints are those of `model`, in the same order."""
    count = client.getNumJoints(body)
    names = tuple(client.getJointInfo(body, joint)[1].decode() for joint in range(count))
    if names != model.joint_names:
        client.removeBody(body)
        raise InvalidValueError(
            f"PyBullet finds joints in {model.path!r} that differ from those read before: {', '.join(names)} instead "
            f"of {', '.join(model.joint_names)}; if the file was changed since, restart the simulation"
        )


def _scale_masses(client: BulletClient, body: int, model: RobotModel, mass: float) -> None:
    """Scale the masses of `body` to `mass` kg in total, unless they add up to it already."""
    own = sum(inertial.mass for inertial in model.inertials)
    # A file without masses gives no proportions to scale by: the base gets it all.
    if own == 0.0:
        client.changeDynamics(body, -1, mass=mass)
    elif not math.isclose(own, mass, rel_tol=1e-9):
        for link in range(-1, model.num_joints):
            information = client.getDynamicsInfo(body, link)
            # For the same shape inertia grows with the mass.
            inertia = [mass / own * value for value in information[2]]
            client.changeDynamics(body, link, mass=mass / own * information[0], localInertiaDiagonal=inertia)


def inertial_frame(client: BulletClient, body: int) -> tuple[Floats, Floats]:
    """Return the pose (3,), (4,) of the base's centre of mass in the base frame."""
    information = client.getDynamicsInfo(body, -1)
    return np.array(information[3]), np.array(information[4])


def _place(client: BulletClient, loaded: LoadedModel, position: Floats, orientation: Floats) -> None:
    turned = orientation[None]
    # PyBullet places the centre of mass of the base, not its frame.
    centre = position + quaternions.rotate(turned, loaded.com_position[None])[0]
    turn = quaternions.multiply(turned, loaded.com_orientation[None])[0]
    client.resetBasePositionAndOrientation(loaded.body, centre.tolist(), turn.tolist())


RawMotor = dict[str, float]
"""Arguments of `setJointMotorControl2` by name, as the user gave them."""
MOTOR = ("controlMode", "targetPosition", "targetVelocity", "force", "positionGain", "velocityGain", "maxVelocity")


def is_motor(motor: Mapping[str, object]) -> bool:
    """Return whether `motor`, read from a file, is a command that PyBullet takes: of a velocity, a position or both."""
    numbers = [value for name, value in motor.items() if name not in ("controlMode", "force")]
    force, mode = motor.get("force", 0.0), motor.get("controlMode")
    # A force may be infinite, but not NaN.
    fits = isinstance(force, float | int) and not isinstance(force, bool) and force == force
    return (
        set(motor) <= set(MOTOR) and type(mode) is int and mode in (0, 2, 3) and fits and all(map(is_finite, numbers))
    )


GEAR_ERP, GEAR_FORCE = 0.2, 1e4
"""Of the gears of mimic joints: the share of an error corrected in a substep, and the maximum force in N or N m."""


class BulletJoints:
    """The joints of the bodies of one world, by row. Rows must have bodies; rows without joints are skipped."""

    def __init__(self, world: World, client: BulletClient, body_of_row: Callable[[], Ints]) -> None:
        """`body_of_row()` returns the column of PyBullet bodies."""
        self.world = world
        self.client = client
        self._body_of_row = body_of_row
        self._indices: dict[int, list[int]] = {}
        self.raw: dict[int, RawMotor] = {}
        """What the user commands in PyBullet, by slot; it counts where the joint's control is RAW_MOTOR."""

    def take_raw(self, slot: int, motor: RawMotor) -> None:
        """Leave the motor in `slot` to the user, who commanded `motor`, until its columns are next commanded."""
        client, joints = self.client, self.world.joints
        before = self.raw.pop(slot, {})
        if joints.control[slot] != RAW_MOTOR:
            before = {}
        if motor["controlMode"] == client.TORQUE_CONTROL:
            # For one step of the engine, beside what the motor does.
            motor = before
        elif motor["controlMode"] != client.VELOCITY_CONTROL and "maxVelocity" in before:
            # PyBullet keeps the fastest speed of a motor until it gets a velocity.
            motor = {"maxVelocity": before["maxVelocity"], **motor}
        if motor:
            self.raw[slot] = motor
        joints.control[slot], joints.command[slot], joints.moving[slot] = RAW_MOTOR, 0.0, False
        # Sent again in the next step: what a motor can do depends on the length of the engine's step.
        joints.motor_behind[slot] = True

    def raw_motors(self) -> dict[int, RawMotor]:
        """Return what the user commands now, by slot."""
        control = self.world.joints.control
        return {slot: motor for slot, motor in self.raw.items() if control[slot] == RAW_MOTOR}

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
            # Of the engine's making: its ratio is that of the leader to the follower, with the sign turned.
            client.changeConstraint(
                gear,
                gearRatio=-mimic.multiplier,
                relativePositionTarget=mimic.offset,
                erp=GEAR_ERP,
                maxForce=GEAR_FORCE,
            )

    def _send(self, slot: int) -> None:
        """Give PyBullet the motor command of one joint: a force, a velocity, a position, or what the user gave it.

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
            # Nothing is left of the commands before, not their fastest speed either.
            client.setJointMotorControl2(body, joint, client.VELOCITY_CONTROL, targetVelocity=0.0, force=0.0)
            if slot in self.raw:
                client.setJointMotorControl2(body, joint, **self.raw[slot])
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
