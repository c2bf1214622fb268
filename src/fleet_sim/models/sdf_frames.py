"""Where links, frames and inner models of an SDF model are: poses may be relative to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.models.geometries import turn_of
from fleet_sim.models.markup import Element
from fleet_sim.models.values import ORIGIN, UNTURNED, Quaternion, Vector
from fleet_sim.spatial import poses

Pose = tuple[Floats, Floats]
"""A position (1, 3) and an orientation (1, 4)."""

MODEL = "__model__"
SCOPE = "::"


class SdfFrames:
    """The frames of one model or world, by name: what has a <pose>, and `inner::name` for frames of an inner model."""

    def __init__(self, placed: Mapping[str, Element], inner: Mapping[str, Callable[[str], Pose]]) -> None:
        """`placed` are the elements whose <pose> places them; `inner` returns the frames of inner models, by name."""
        self._placed = placed
        self._inner = inner
        self._known: dict[str, Pose] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._placed or name.partition(SCOPE)[0] in self._inner

    def pose(self, name: str, asked: tuple[str, ...] = ()) -> Pose:
        """Return the pose of a frame; raises InvalidValueError for poses that are relative to each other in a ring."""
        # Those above first: `relative_to` may lead through all links, which is too deep for recursion.
        for above in reversed(self._chain(name)):
            if above not in self._known:
                if above in asked:
                    # A ring that leads through an inner model.
                    raise self._astray(self._placed[name.partition(SCOPE)[0]], above)
                # Kept, since chains share their upper part.
                self._known[above] = self._found(above, (*asked, above))
        return self._known[name]

    def _chain(self, name: str) -> list[str]:
        """Return `name` and the names that its pose is relative to, one after the other, as far as none is known."""
        chain = dict.fromkeys((name,))
        current = name
        while current not in self._known and SCOPE not in current:
            above = relative_to(self._placed[current])
            if not above or above in (MODEL, "world"):
                break
            if above not in self or above in chain:
                raise self._astray(self._placed[current], above)
            chain[above] = None
            current = above
        return list(chain)

    def _found(self, name: str, asked: tuple[str, ...]) -> Pose:
        outer, _, rest = name.partition(SCOPE)
        if rest:
            return poses.compose(*self.pose(outer, asked), *self._inner[outer](rest))
        return self.of(self._placed[name], asked)

    def of(self, element: Element, asked: tuple[str, ...] = ()) -> Pose:
        """Return the pose of an element from its <pose>, in the frame of the model or world."""
        found, above = arrays(pose_of(element)), relative_to(element)
        if not above or above in (MODEL, "world"):
            return found
        return poses.compose(*self.pose(above, asked), *found)

    def _astray(self, element: Element, above: str) -> InvalidValueError:
        hint = did_you_mean(above, self._placed)
        return element.error(f"its pose is relative to {above!r}, which is not another link or frame.{hint}")


def pose_of(element: Element) -> tuple[Vector, Quaternion]:
    """Return the <pose> of an element, the identity if it has none."""
    pose = element.child("pose")
    if pose is None or not pose.text.strip():
        return ORIGIN, UNTURNED
    if pose.attributes.get("rotation_format", "euler_rpy") != "euler_rpy" or pose.attributes.get("degrees") == "true":
        raise pose.error("a pose must be x y z roll pitch yaw in m and rad")
    x, y, z, *eulers = pose.text_numbers(6)
    return (x, y, z), turn_of(tuple(eulers))


def relative_to(element: Element) -> str:
    """Return the name of the frame that an element's pose is in; "": that of the model."""
    pose = element.child("pose")
    given = pose.attributes.get("relative_to", "") if pose else ""
    # A <frame> without it is where it is attached.
    return given or (element.attributes.get("attached_to", "") if element.tag == "frame" else "")


def arrays(pose: tuple[Vector, Quaternion]) -> Pose:
    """Return a pose as arrays of one row."""
    return np.array([pose[0]]), np.array([pose[1]])


def tuples(positions: Floats, orientations: Floats) -> tuple[Vector, Quaternion]:
    """Return the first row of poses; the inverse of `arrays`."""
    (x, y, z), (qx, qy, qz, qw) = positions[0].tolist(), orientations[0].tolist()
    return (x, y, z), (qx, qy, qz, qw)
