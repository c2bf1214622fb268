"""Detects the parts of a robot from its tree: wheels, arms, fingers, legs, the end effector.

The structure decides first; names are used only where the structure is ambiguous.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.robot_model import BASE, FIXED, PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.spatial import poses, quaternions

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
                posed = poses.compose(
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
