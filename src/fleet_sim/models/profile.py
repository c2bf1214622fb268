"""RobotProfile: the kind of robot that a model describes, found from the structure of its links and joints."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.catalog import resolve_urdf
from fleet_sim.models.loading import load_robot_model
from fleet_sim.world.shapes import BASE, FIXED, PRISMATIC, REVOLUTE, RobotModel

# Detects the parts of a robot from its tree: wheels, arms, fingers, legs, the end effector. The structure decides
# first; names are used only where the structure is ambiguous.


ARM_JOINTS = 3
"""Minimum number of joints in a chain for an arm; a pan-tilt head has two."""
LEG_JOINTS = 2
LEGS = 3
"""Minimum number of limbs for legs; two are the arms of a torso."""

_WHEEL = re.compile(r"wheel|caster|castor|track|roller", re.IGNORECASE)
_FINGER = re.compile(r"finger|gripper|jaw|knuckle|thumb", re.IGNORECASE)
# The most exact name wins.
_TOOL_ORDER = ("tool0", "tcp", "ee_link", "end_effector", "tool", "hand", "gripper", "flange")


@dataclass(frozen=True, eq=False)
class Structure:
    """The parts of `model`, for J joints.

    Parts are found by which joints move, without limits, below which others; names decide only what that leaves open.
    All are computed when they are asked for.
    """

    model: RobotModel

    @cached_property
    def frames(self) -> tuple[Floats, Floats]:
        """Positions (J, 3) and orientations (J, 4) of all joints in the base frame, all joint values 0."""
        # Models list parents before their children.
        model = self.model
        positions, orientations = model.joint_positions.copy(), model.joint_orientations.copy()
        for joint, parent in enumerate(model.parents.tolist()):
            if parent != BASE:
                posed = quaternions.compose(
                    positions[[parent]], orientations[[parent]], positions[[joint]], orientations[[joint]]
                )
                positions[joint], orientations[joint] = posed[0][0], posed[1][0]
        return positions, orientations

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The child joints of each link, in order."""
        found: dict[int, list[int]] = {link: [] for link in range(BASE, self.model.num_joints)}
        for joint, parent in enumerate(self.model.parents.tolist()):
            found[parent].append(joint)
        return found

    @cached_property
    def depths(self) -> Ints:
        """Number of movable joints (J,) from each joint to the farthest tip, including itself."""
        depths = np.zeros(self.model.num_joints, np.int64)
        moves = (self.model.joint_types != FIXED).astype(np.int64)
        # Children come after their parents.
        for joint in range(self.model.num_joints - 1, -1, -1):
            depths[joint] = moves[joint] + max((int(depths[child]) for child in self.children[joint]), default=0)
        return depths

    @cached_property
    def wheel_mask(self) -> Bools:
        """Which joints (J,) turn a wheel: no limits, and no movable joint behind it.

        It also is named like a wheel, or it is attached to the base and rotates about a horizontal axis.
        """
        model, wheels = self.model, np.zeros(self.model.num_joints, bool)
        for joint in np.flatnonzero((model.joint_types == REVOLUTE) & ~model.limited_mask).tolist():
            # Something moves behind it: it is no wheel, but carries one.
            if self.depths[joint] > 1:
                continue
            called = _WHEEL.search(model.joint_names[joint]) or _WHEEL.search(model.link_names[joint])
            # Movable joints between it and the base, without itself.
            before = sum(model.joint_types[above] != FIXED for above in model.chain(joint)) - 1
            axis = quaternions.rotate(self.frames[1][[joint]], model.axes[[joint]])[0]
            wheels[joint] = bool(called) or (before == 0 and abs(axis[2]) < 0.5 and not self._pendulum(joint))
        return wheels

    def _pendulum(self, joint: int) -> bool:
        """Return whether this is the only movable joint or is carried by a prismatic one: not a wheel then."""
        model = self.model
        slides = any(model.joint_types[above] == PRISMATIC for above in model.chain(joint))
        return slides or len(model.movable) == 1

    @cached_property
    def arm_mask(self) -> Bools:
        """Which joints (J,) can be part of an arm: movable ones that do not drive or steer a wheel or move a finger."""
        model = self.model
        mask = (model.joint_types != FIXED) & ~self.wheel_mask
        for joint in np.flatnonzero(mask).tolist():
            # A joint above a wheel steers it, as on cars and on bases with swivelling wheels.
            steers = any(self.wheel_mask[child] for child in self._below(joint))
            finger = _FINGER.search(model.joint_names[joint]) or _FINGER.search(model.link_names[joint])
            mask[joint] = not steers and not finger
        return mask

    def _below(self, link: int) -> list[int]:
        found = list(self.children[link])
        for child in found:
            found += self.children[child]
        return found

    @cached_property
    def limbs(self) -> list[list[int]]:
        """The joints of each arm, or of legs with as many joints, from the base outwards; the longest first."""
        # Each finger ends a chain of its own; without fingers these chains are one and the same.
        unique = {tuple(chain): chain for chain in map(self._without_fingers, self._chains) if len(chain) >= ARM_JOINTS}
        return sorted(unique.values(), key=len, reverse=True)

    @cached_property
    def _chains(self) -> list[list[int]]:
        ends = [joint for joint in np.flatnonzero(self.arm_mask).tolist() if not self._continues(joint)]
        return [[joint for joint in self.model.chain(end) if self.arm_mask[joint]][::-1] for end in ends]

    def _continues(self, joint: int) -> bool:
        return any(self.arm_mask[child] for child in self._below(joint))

    def _without_fingers(self, chain: list[int]) -> list[int]:
        """Return the chain up to the link where it splits into short ends, which are the fingers of a hand."""
        for place, joint in enumerate(chain):
            if place + 1 < ARM_JOINTS:
                continue
            # Two or more short ends: fingers.
            split = [int(self.depths[child]) for child in self._moving_below(joint)]
            if len(split) > 1 and max(split) < ARM_JOINTS:
                return chain[: place + 1]
        return chain

    def _moving_below(self, link: int) -> list[int]:
        """Return the first movable joints behind `link`."""
        found = []
        for child in self.children[link]:
            found += [child] if self.model.joint_types[child] != FIXED else self._moving_below(child)
        return found

    @cached_property
    def robot_type(self) -> str:
        """ "static", "arm", "mobile" or "mobile_manipulator"; walking robots are mobile."""
        if not len(self.model.movable):
            return "static"
        if self.wheel_mask.any():
            return "mobile_manipulator" if self.limbs else "mobile"
        # By first joint: several toes are still one leg.
        legs = {chain[0] for chain in self._chains if len(chain) >= LEG_JOINTS}
        return "mobile" if len(legs) >= LEGS else "arm"

    @cached_property
    def end_effector(self) -> int | None:
        """The link that carries the fingers or the tool of the longest arm, None without an arm.

        If no chain of an "arm" robot is long enough for an arm, it is the end of the longest chain.
        """
        if self.robot_type not in ("arm", "mobile_manipulator"):
            return None
        last = self.limbs[0][-1] if self.limbs else self._deepest()
        rigid = [last, *self._rigid_below(last)]
        # Where several joints go on, the fingers begin.
        for link in rigid:
            if len([child for child in self.children[link] if self.model.joint_types[child] != FIXED]) > 1:
                return link
        names = [self.model.link_names[link].lower() for link in rigid]
        for word in _TOOL_ORDER:
            for link, name in zip(rigid, names, strict=True):
                if word in name:
                    return link
        return last

    def _deepest(self) -> int:
        joint = max(self.children[BASE], key=lambda child: int(self.depths[child]))
        last = joint
        while self.children[joint]:
            joint = max(self.children[joint], key=lambda child: int(self.depths[child]))
            if self.depths[joint] and self.model.joint_types[joint] != FIXED:
                last = joint
        return last

    def _rigid_below(self, link: int) -> list[int]:
        found = []
        for child in self.children[link]:
            if self.model.joint_types[child] == FIXED:
                found += [child, *self._rigid_below(child)]
        return found


# Estimates the reach of an arm from its geometry and joint limits.


# Random values get near the largest distance, and two sweeps along each joint find it to about one percent.
_SAMPLES = 2048
_STEPS = 24
_SWEEPS = 2


def arm_reach(model: RobotModel, tip: int, first: int) -> float:
    """Return the largest distance in m of link `tip` from the frame of joint `first`, to about one percent.

    Searches joint values within their limits: random samples, then coordinate descent from the best one. The result is
    the same for the same model.
    """
    chain = list(model.chain(tip))[::-1]
    chain = chain[chain.index(first) :]
    low, high = _ranges(model, chain)
    # A fixed seed: the same model always has the same reach.
    values = low + (high - low) * np.random.default_rng(0).random((_SAMPLES, len(chain)))
    distances = _distances(model, chain, values)
    best = values[int(np.argmax(distances))]
    for _ in range(_SWEEPS):
        for place in range(len(chain)):
            trials = np.tile(best, (_STEPS + 1, 1))
            # The first trial is the best so far, so a sweep never makes it worse.
            trials[1:, place] = np.linspace(low[place], high[place], _STEPS)
            best = trials[int(np.argmax(_distances(model, chain, trials)))]
    return float(_distances(model, chain, best[None])[0])


def _ranges(model: RobotModel, chain: list[int]) -> tuple[Floats, Floats]:
    limited = model.limited_mask[chain]
    turns = np.where(model.joint_types[chain] == REVOLUTE, np.pi, 0.0)
    low = np.where(limited, model.lower[chain], -turns)
    high = np.where(limited, model.upper[chain], turns)
    # The first joint moves the whole arm, so its value does not change the reach.
    low[0] = high[0] = 0.0 if low[0] <= 0.0 <= high[0] else low[0]
    return low, high


def _distances(model: RobotModel, chain: list[int], values: Floats) -> Floats:
    """Return how far (N,) in m the end of `chain` is from the frame of its first joint, at joint values (N, K)."""
    count = len(values)
    positions, orientations = np.zeros((count, 3)), np.tile(quaternions.IDENTITY, (count, 1))
    for place, joint in enumerate(chain):
        moved = values[:, [place]] * model.axes[joint]
        kind = model.joint_types[joint]
        # Distances count from the frame of the first joint, so its own place is left out.
        if place:
            frame = (
                np.tile(model.joint_positions[joint], (count, 1)),
                np.tile(model.joint_orientations[joint], (count, 1)),
            )
            positions, orientations = quaternions.compose(positions, orientations, *frame)
        if kind == REVOLUTE:
            orientations = quaternions.multiply(orientations, quaternions.from_rotation_vectors(moved))
        elif kind == PRISMATIC:
            positions = positions + quaternions.rotate(orientations, moved)
    return np.sqrt(np.square(positions).sum(axis=1))


# Builds the model of a body that is already loaded in PyBullet, by querying PyBullet.


def model_of_body(body_id: int, client: Any) -> RobotModel:
    """Return the model of a loaded body: links and joints, without geometries and masses.

    `client` is a simulation's `sim.bullet`, any object with PyBullet's functions, or a PyBullet client id such as
    `sim.client`. Raises InvalidValueError for a client or body that does not exist.
    """
    call, failure = _caller(client)
    try:
        infos = [call("getJointInfo", body_id, joint) for joint in range(call("getNumJoints", body_id))]
        base, name = (part.decode() for part in call("getBodyInfo", body_id)[:2])
        frames = [call("getDynamicsInfo", body_id, link)[3:5] for link in range(BASE, len(infos))]
    except failure as error:
        raise InvalidValueError(f"PyBullet cannot return the joints of body {body_id!r}: {error}") from error
    return _model(name, base, infos, frames)


def _caller(client: Any) -> tuple[Callable[..., Any], type[Exception]]:
    """Return a function that calls a PyBullet function by name, and the type of error PyBullet raises."""
    if isinstance(client, bool) or client is None:
        raise InvalidValueError(f"physics_client: expected sim.bullet or a PyBullet client id, got {client!r}")
    if not isinstance(client, int):
        return lambda function, *arguments: getattr(client, function)(*arguments), client.error
    # A caller that has a client id must have imported PyBullet already.
    module = sys.modules.get("pybullet")
    if module is None:
        raise InvalidValueError(f"physics_client: there is no PyBullet client {client}; nothing has loaded PyBullet")
    return lambda function, *arguments: getattr(module, function)(*arguments, physicsClientId=client), module.error


def _model(name: str, base: str, infos: list[Any], inertial_frames: list[Any]) -> RobotModel:
    """Return the model of a body from PyBullet's records of its joints and inertial frames."""
    count = len(infos)

    def numbers(index: int, width: int) -> Any:
        return np.array([info[index] for info in infos], np.float64).reshape((count, width) if width else (count,))

    # PyBullet returns joint frames in the parent's inertial frame and axes in the child's; the model has link frames.
    positions = np.array([frame[0] for frame in inertial_frames]).reshape(-1, 3)
    turns = np.array([frame[1] for frame in inertial_frames]).reshape(-1, 4)
    parents = np.array([info[16] for info in infos], np.int64)
    # Frames begin with that of the base, whose index among the parents is -1.
    at_parent, at_child = turns[parents + 1], turns[1:]
    kinds = np.array([info[2] for info in infos], np.int64)
    axes = quaternions.rotate(at_child, numbers(13, 3))
    # PyBullet gives fixed joints a zero axis; here every axis is a unit vector.
    axes[kinds == FIXED] = (1.0, 0.0, 0.0)
    # PyBullet's orientation maps the parent's inertial frame to the child's, which is the inverse of a frame's.
    turned = quaternions.multiply(at_parent, quaternions.conjugate(numbers(15, 4)))
    orientations = quaternions.multiply(turned, quaternions.conjugate(at_child))
    return RobotModel(
        name=name,
        path="",
        base_name=base,
        link_names=tuple(info[12].decode() for info in infos),
        joint_names=tuple(info[1].decode() for info in infos),
        joint_types=kinds,
        parents=parents,
        joint_positions=positions[parents + 1] + quaternions.rotate(at_parent, numbers(14, 3)),
        joint_orientations=orientations,
        axes=axes,
        lower=numbers(8, 0),
        upper=numbers(9, 0),
        max_velocities=numbers(11, 0),
        max_forces=numbers(10, 0),
        damping=numbers(6, 0),
        friction=numbers(7, 0),
    )


RobotType = Literal["arm", "mobile", "mobile_manipulator", "static"]
OBJECT = "static"
"""The type of a model without movable joints: an object, not a robot."""


@dataclass(frozen=True)
class RobotProfile:
    """The detected properties of a robot.

    `robot_type` is "arm", "mobile", "mobile_manipulator" or "static". `num_joints` includes fixed joints; the
    tuples have one entry per movable joint, in the order of `movable_joint_indices`; limits are in rad or m, and
    lower >= upper means no limits. The end effector is the link that carries fingers or a tool: None and -1 without an
    arm. `reach` is its largest distance in m from the arm's first revolute joint, None without an arm.
    """

    urdf_path: str
    robot_type: RobotType
    num_joints: int = 0
    movable_joint_names: tuple[str, ...] = ()
    movable_joint_indices: tuple[int, ...] = ()
    joint_lower_limits: tuple[float, ...] = ()
    joint_upper_limits: tuple[float, ...] = ()
    joint_max_velocities: tuple[float, ...] = ()
    ee_link_name: str | None = None
    ee_link_index: int = BASE
    reach: float | None = None
    wheel_joint_names: tuple[str, ...] = ()
    arm_joint_names: tuple[str, ...] = ()

    @property
    def arm_reach(self) -> float | None:
        """Alias of `reach`."""
        return self.reach


def auto_detect_profile(
    urdf_path_or_body_id: str | Path | int,
    physics_client: Any = None,
    *,
    search_paths: Sequence[str | Path] = (),
    **overrides: object,
) -> RobotProfile:
    """Return the profile of a model, given by name or path, or of a body loaded in PyBullet.

    `physics_client` is only needed for a body: `sim.bullet` or a PyBullet client id. `overrides` replace detected
    fields. Raises UnknownNameError for an unknown model or field, InvalidValueError for an invalid file.
    """
    if isinstance(urdf_path_or_body_id, int):
        profile = profile_of(model_of_body(urdf_path_or_body_id, physics_client))
    else:
        path = resolve_urdf(urdf_path_or_body_id, search_paths=search_paths)
        profile = profile_of(load_robot_model(path, search_paths=search_paths))
    fields = [field.name for field in dataclasses.fields(RobotProfile)]
    for name in overrides:
        if name not in fields:
            raise unknown_name("field of RobotProfile", name, fields)
    return dataclasses.replace(profile, **overrides)  # type: ignore[arg-type]  # checked by name


def detect_robot_type(body_id: int, client: Any) -> RobotType:
    """Return the type of a body loaded in PyBullet, without the rest of its profile."""
    kind: RobotType = Structure(model_of_body(body_id, client)).robot_type  # type: ignore[assignment]
    return kind


@lru_cache(maxsize=256)
def profile_of(model: RobotModel) -> RobotProfile:
    """Return the profile of `model`, cached per model."""
    structure, movable = Structure(model), model.movable
    tip, limbs = structure.end_effector, structure.limbs
    kind: RobotType = structure.robot_type  # type: ignore[assignment]
    arm = limbs[0] if limbs and tip is not None else []
    shoulder = next((joint for joint in arm if model.joint_types[joint] == REVOLUTE), None)
    return RobotProfile(
        urdf_path=model.path,
        robot_type=kind,
        num_joints=model.num_joints,
        movable_joint_names=model.movable_names,
        movable_joint_indices=tuple(movable.tolist()),
        joint_lower_limits=tuple(model.lower[movable].tolist()),
        joint_upper_limits=tuple(model.upper[movable].tolist()),
        joint_max_velocities=tuple(model.max_velocities[movable].tolist()),
        ee_link_name=None if tip is None else model.link_names[tip],
        ee_link_index=BASE if tip is None else tip,
        reach=arm_reach(model, tip, shoulder) if tip is not None and shoulder is not None else None,
        wheel_joint_names=tuple(
            name for name, wheel in zip(model.joint_names, structure.wheel_mask, strict=True) if wheel
        ),
        arm_joint_names=tuple(model.joint_names[joint] for joint in arm),
    )
