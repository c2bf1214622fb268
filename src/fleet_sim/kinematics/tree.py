"""Tree: a robot model in the form that kinematics computes with, made once per model.

Only movable joints count: all links between two of them are rigidly connected and form one body.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.robot_model import BASE, PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import poses, quaternions

_UPRIGHT = quaternions.IDENTITY[None]


class Tree(NamedTuple):
    """B bodies, each moved by one joint, and their constants. Index -1 is the base.

    Bodies are sorted by depth: `levels` are slices of the bodies next to the base, then of their children, and so on.
    `parents` (B,) are the parent bodies, `slots` (B,) the index of each body's joint among the joint values q of a
    robot, and `bodies` (B,) the body of each joint value.

    A body's frame in its parent's is the matrix `still + sine * sin(q) + cosine * cos(q) + slide * q`: three columns of
    axes and one for the origin, so (3, 4). `slides` says whether
    some joint is prismatic. `axis` (3) is the joint's axis in the body's own frame, `turning` 1 for
    joints that turn, else 0. These arrays are laid out by component, body and (one) robot, to broadcast over robots.

    `link_body` (J + 1,) says which body each link is part of, `link_position` (J + 1, 3) and `link_orientation`
    (J + 1, 4) where it is in that body. The last entry is the base's.
    """

    parents: Ints
    slots: Ints
    bodies: Ints
    levels: tuple[slice, ...]
    still: Floats
    sine: Floats
    cosine: Floats
    slide: Floats
    slides: bool
    axis: Floats
    turning: Floats
    link_body: Ints
    link_position: Floats
    link_orientation: Floats


@lru_cache(maxsize=256)
def tree_of(model: RobotModel) -> Tree:
    """Return the tree of all movable joints of `model`; raises InvalidValueError where links form a cycle."""
    return make_tree(model, model.movable.tolist())


def make_tree(model: RobotModel, joints: Iterable[int]) -> Tree:
    """Return the tree of `joints` alone, whose values have that order; all other joints are treated as fixed at 0."""
    slot_of = {joint: slot for slot, joint in enumerate(joints)}
    order = _by_depth(model, slot_of)
    frames = _frames(model, order)
    bodies_joints = np.array(order, np.int64)
    slots = np.array([slot_of[joint] for joint in order], np.int64)
    turning = (model.joint_types[bodies_joints] == REVOLUTE).astype(float)
    sliding = (model.joint_types[bodies_joints] == PRISMATIC).astype(float)
    axes = model.axes[bodies_joints] * (turning + sliding)[:, None]
    # a a^T, the projection on the axis.
    matrices, along = quaternions.to_matrices(frames.turn), axes[:, :, None] * axes[:, None, :]
    spun = turning[:, None, None]
    slide = np.zeros((len(order), 3, 4))
    # Sliding joints move the origin along the axis, in the frame of the parent.
    slide[:, :, 3] = quaternions.rotate(frames.turn, axes * sliding[:, None])
    # Rodrigues' formula with axis a: R(q) = a a^T + sin(q) [a]x + cos(q) (I - a a^T), times the fixed frame before it.
    still = _framed(_product(matrices, np.where(spun > 0.0, along, np.eye(3))), frames.offset)
    return Tree(
        parents=frames.parents,
        slots=slots,
        bodies=np.argsort(slots),
        levels=_levels(frames.parents),
        still=_by_component(still),
        sine=_by_component(_framed(_product(matrices, _cross_matrices(axes)) * spun)),
        cosine=_by_component(_framed(_product(matrices, np.eye(3) - along) * spun)),
        slide=_by_component(slide),
        slides=bool(sliding.any()),
        axis=_by_component(axes),
        turning=turning[:, None],
        link_body=frames.link_body,
        link_position=frames.link_position,
        link_orientation=frames.link_orientation,
    )


class _Frames(NamedTuple):
    """Where bodies and links are at joint values 0: each body in its parent's frame, each link in its body's.

    `parents` (B,), `offset` (B, 3) and `turn` (B, 4) are of bodies, the others of links and the base, as in Tree.
    """

    parents: Ints
    offset: Floats
    turn: Floats
    link_body: Ints
    link_position: Floats
    link_orientation: Floats


def _frames(model: RobotModel, order: list[int]) -> _Frames:
    """Return the frames of the bodies that the joints in `order` move, and of all links."""
    body_of = {joint: body for body, joint in enumerate(order)}
    links, count = model.num_joints, len(order)
    link_body = np.full(links + 1, BASE, np.int64)
    link_position, link_orientation = np.zeros((links + 1, 3)), np.tile(_UPRIGHT, (links + 1, 1))
    parents = np.full(count, BASE, np.int64)
    offset, turn = np.zeros((count, 3)), np.tile(_UPRIGHT, (count, 1))
    for link in _parents_first(model):
        above = int(model.parents[link])
        place = poses.compose(
            link_position[[above]],
            link_orientation[[above]],
            model.joint_positions[[link]],
            model.joint_orientations[[link]],
        )
        body = body_of.get(link)
        if body is None:
            link_body[link] = link_body[above]
            link_position[[link]], link_orientation[[link]] = place
        else:
            # A link that a joint moves is where its body is: it keeps the identity.
            link_body[link], parents[body] = body, link_body[above]
            offset[[body]], turn[[body]] = place
    return _Frames(parents, offset, turn, link_body, link_position, link_orientation)


def _by_component(array: Floats) -> Floats:
    """Return `array` (B, ...) as (..., B, 1)."""
    # The last axis is for robots: it broadcasts over all of them.
    return np.ascontiguousarray(np.moveaxis(array, 0, -1))[..., None]


def _framed(matrices: Floats, origins: Floats | float = 0.0) -> Floats:
    """Return (B, 3, 4) of matrices (B, 3, 3) and origins (B, 3)."""
    out = np.zeros((len(matrices), 3, 4))
    out[:, :, :3] = matrices
    out[:, :, 3] = origins
    return out


def _product(a: Floats, b: Floats) -> Floats:
    """Return the matrix products (B, 3, 3)."""
    return np.asarray(a[:, :, :1] * b[..., :1, :] + a[:, :, 1:2] * b[..., 1:2, :] + a[:, :, 2:] * b[..., 2:, :])


def _cross_matrices(vectors: Floats) -> Floats:
    """Return the matrices (B, 3, 3) of the cross product with `vectors` (B, 3)."""
    x, y, z = vectors.T
    zero = np.zeros(len(vectors))
    return np.stack((zero, -z, y, z, zero, -x, -y, x, zero), axis=1).reshape(-1, 3, 3)


def _by_depth(model: RobotModel, joints: Iterable[int]) -> list[int]:
    """Return `joints` sorted by the number of chosen joints between them and the base."""
    chosen = set(joints)
    depth = {BASE: 0}
    for link in _parents_first(model):
        depth[link] = depth[int(model.parents[link])] + (link in chosen)
    # By index within a depth: the order must not depend on how a set is iterated.
    return sorted(chosen, key=lambda joint: (depth[joint], joint))


def _levels(parents: Ints) -> tuple[slice, ...]:
    depth = np.zeros(len(parents), np.int64)
    for body, above in enumerate(parents.tolist()):
        depth[body] = 0 if above == BASE else depth[above] + 1
    # Sorted by depth, so levels are slices.
    edges = np.searchsorted(depth, np.arange(depth.max(initial=-1) + 2)).tolist()
    return tuple(slice(start, stop) for start, stop in pairwise(edges))


def _parents_first(model: RobotModel) -> list[int]:
    """Return all links, parents before their children."""
    below: dict[int, list[int]] = {}
    for link, parent in enumerate(model.parents.tolist()):
        below.setdefault(parent, []).append(link)
    order: list[int] = list(below.get(BASE, ()))
    # The list grows while it is walked, which visits the tree level by level without recursion.
    for link in order:
        order.extend(below.get(link, ()))
    if len(order) < model.num_joints:
        lost = sorted(set(range(model.num_joints)) - set(order))
        names = ", ".join(repr(model.link_names[link]) for link in lost[:5])
        raise InvalidValueError(f"the robot model {model.name!r}: links that are not connected to the base: {names}")
    return order
