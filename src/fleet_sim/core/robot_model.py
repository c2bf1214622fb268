"""RobotModel: the content of a robot description file, read once and shared by all robots of that kind.

Links and joints are numbered as in PyBullet: joint i moves link i, and -1 is the base. So an index has the same meaning
in columns, in PyBullet and in user code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import unknown_name
from fleet_sim.saved_classes import saved

BASE = -1
REVOLUTE, PRISMATIC, SPHERICAL, PLANAR, FIXED = range(5)
"""Types of joints, with PyBullet's numbers. A continuous joint is a REVOLUTE one without limits."""


@saved
@dataclass(frozen=True)
class LinkGeometry:
    """One geometry of a link; its pose is in the link frame."""

    link: int
    geometry: Geometry


@saved
@dataclass(frozen=True)
class Inertial:
    """Mass in kg, inertial frame (centre of mass at its origin) in the link frame, inertia in kg m2 about its axes."""

    mass: float = 0.0
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)


@saved
@dataclass(frozen=True)
class Mimic:
    """A joint, by index, that follows another one: its position is `multiplier` times that of `leader` + `offset`.

    No leader follows itself: what a file says in several steps is one here.
    """

    follower: int
    leader: int
    multiplier: float = 1.0
    offset: float = 0.0


@saved
@dataclass(frozen=True, eq=False)
class RobotModel:
    """The links, joints and geometries of one robot description, for J joints.

    Link frames are those of the file: a link's frame is its joint's frame, moved by the joint. `parents` (J,) is the
    parent link of each. `joint_positions` (J, 3) and `joint_orientations` (J, 4) are the joint frames in the parent's
    link frame, at joint value 0; `axes` (J, 3) unit vectors in the joint frame. `lower` and `upper` (J,) in rad or m;
    where lower >= upper the joint has no limits. `max_velocities` and `max_forces` (J,) are 0 where the file has no
    value. `inertials` holds the base's and then one per link. Arrays are read-only.
    """

    name: str
    path: str
    base_name: str
    link_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joint_types: Ints
    parents: Ints
    joint_positions: Floats
    joint_orientations: Floats
    axes: Floats
    lower: Floats
    upper: Floats
    max_velocities: Floats
    max_forces: Floats
    damping: Floats
    friction: Floats
    inertials: tuple[Inertial, ...] = ()
    visuals: tuple[LinkGeometry, ...] = ()
    collisions: tuple[LinkGeometry, ...] = ()
    mimics: tuple[Mimic, ...] = ()
    # Both are worked out from the rest, once.
    movable: Ints = field(init=False)
    """Indices (M,) of the movable joints: those that turn or slide. Others are held fixed, see `held`."""
    limited_mask: Bools = field(init=False)
    """Which joints (J,) have limits."""

    def __post_init__(self) -> None:
        # Frozen like the rest; both follow from other fields.
        # Spherical and planar joints have no single value, so nothing moves them.
        object.__setattr__(self, "movable", np.flatnonzero(np.isin(self.joint_types, (REVOLUTE, PRISMATIC))))
        # Files say "no limits" by a lower limit that is not below the upper one.
        object.__setattr__(self, "limited_mask", np.asarray(self.lower) < np.asarray(self.upper))
        # Read-only, as all robots of a kind share them: one that wrote here would change the others.
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def num_joints(self) -> int:
        """Number of joints, and of links besides the base; fixed ones are included."""
        return len(self.joint_names)

    @property
    def movable_names(self) -> tuple[str, ...]:
        """The names of the movable joints."""
        return tuple(self.joint_names[joint] for joint in self.movable.tolist())

    @property
    def held(self) -> tuple[str, ...]:
        """The names of spherical and planar joints, which have no single position: they stay as the file has them."""
        kinds = zip(self.joint_names, self.joint_types.tolist(), strict=True)
        return tuple(name for name, kind in kinds if kind in (SPHERICAL, PLANAR))

    @cached_property
    def concave(self) -> tuple[LinkGeometry, ...]:
        """The collision shapes that are concave meshes."""
        return tuple(piece for piece in self.collisions if piece.geometry.concave)

    @cached_property
    def slots(self) -> Ints:
        """The index (J,) of each joint among the movable ones, -1 for fixed joints."""
        slots = np.full(self.num_joints, -1, np.int64)
        slots[self.movable] = np.arange(len(self.movable))
        return slots

    @cached_property
    def _joints(self) -> dict[str, int]:
        return {name: joint for joint, name in enumerate(self.joint_names)}

    @cached_property
    def _links(self) -> dict[str, int]:
        # The base is a link as well, with the number -1.
        return {self.base_name: BASE} | {name: link for link, name in enumerate(self.link_names)}

    def joint_index(self, joint: int | str) -> int:
        """Return the index of a joint given by name or index; raises UnknownNameError with the closest names."""
        return self._index("joint", joint, self._joints, range(self.num_joints))

    def link_index(self, link: int | str) -> int:
        """Return the index of a link given by name or index, -1 for the base; raises UnknownNameError."""
        return self._index("link", link, self._links, range(BASE, self.num_joints))

    def _index(self, noun: str, wanted: int | str, by_name: dict[str, int], allowed: range) -> int:
        """Return the index of a joint or link by name or index; raises UnknownNameError with the closest name."""
        if isinstance(wanted, str):
            index = by_name.get(wanted)
            if index is None:
                raise unknown_name(f"{noun} of {self.name!r}", wanted, by_name)
            return index
        if wanted not in allowed:
            raise unknown_name(f"{noun} index of {self.name!r}", wanted, map(str, allowed))
        return int(wanted)

    def chain(self, link: int) -> Iterator[int]:
        """Yield the joints between `link` and the base, from the link inwards."""
        while link != BASE:
            yield link
            link = int(self.parents[link])
