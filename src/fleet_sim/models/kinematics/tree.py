"""Tree: a robot model in the form that kinematics computes with, made once per model.

Only movable joints count: all links between two of them are rigidly connected and form one body.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.rotations import sin_cos
from fleet_sim.world.columns import numbers_of
from fleet_sim.world.commands import Frames
from fleet_sim.world.shapes import BASE, FIXED, PRISMATIC, REVOLUTE, RobotModel

_UPRIGHT = quaternions.IDENTITY[None]


class Tree(NamedTuple):
    """B bodies, each moved by one joint, and their constants. Index -1 is the base.

    Bodies are sorted by depth: those next to the base, then their children, and so on.
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
    parents, offset, turn, link_body, link_position, link_orientation = _frames(model, order)
    bodies_joints = np.array(order, np.int64)
    slots = np.array([slot_of[joint] for joint in order], np.int64)
    turning = (model.joint_types[bodies_joints] == REVOLUTE).astype(float)
    sliding = (model.joint_types[bodies_joints] == PRISMATIC).astype(float)
    axes = model.axes[bodies_joints] * (turning + sliding)[:, None]
    # a a^T, the projection on the axis.
    matrices, along = quaternions.to_matrices(turn), axes[:, :, None] * axes[:, None, :]
    spun = turning[:, None, None]
    slide = np.zeros((len(order), 3, 4))
    # Sliding joints move the origin along the axis, in the frame of the parent.
    slide[:, :, 3] = quaternions.rotate(turn, axes * sliding[:, None])
    # Rodrigues' formula with axis a: R(q) = a a^T + sin(q) [a]x + cos(q) (I - a a^T), times the fixed frame before it.
    still = _framed(_product(matrices, np.where(spun > 0.0, along, np.eye(3))), offset)
    return Tree(
        parents=parents,
        slots=slots,
        bodies=np.argsort(slots),
        still=_by_component(still),
        sine=_by_component(_framed(_product(matrices, _cross_matrices(axes)) * spun)),
        cosine=_by_component(_framed(_product(matrices, np.eye(3) - along) * spun)),
        slide=_by_component(slide),
        slides=bool(sliding.any()),
        axis=_by_component(axes),
        turning=turning[:, None],
        link_body=link_body,
        link_position=link_position,
        link_orientation=link_orientation,
    )


def _frames(model: RobotModel, order: list[int]) -> tuple[Ints, Floats, Floats, Ints, Floats, Floats]:
    """Return where the bodies that the joints in `order` move, and all links, are at joint values 0.

    The parents (B,) of bodies, their offsets (B, 3) and turns (B, 4) in the frames of these; and of links and the base
    the body, the position and the orientation in its frame, as in Tree.
    """
    body_of = {joint: body for body, joint in enumerate(order)}
    links, count = model.num_joints, len(order)
    link_body = np.full(links + 1, BASE, np.int64)
    link_position, link_orientation = np.zeros((links + 1, 3)), np.tile(_UPRIGHT, (links + 1, 1))
    parents = np.full(count, BASE, np.int64)
    offset, turn = np.zeros((count, 3)), np.tile(_UPRIGHT, (count, 1))
    for link in _parents_first(model):
        above = int(model.parents[link])
        place = quaternions.compose(
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
    return parents, offset, turn, link_body, link_position, link_orientation


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


# Forward kinematics: the frames of the bodies of robots of one model, by one kernel for trees and for the chains of
# `inverse.py`.


ORIGIN = 3
"""The column of a frame that holds its origin; the columns before it are its axes."""


class Moves(NamedTuple):
    """How the bodies of a `Tree` move, body by body: the parts (B, 3, 4) of their frames, and their parents and joints.

    `slides` says whether some joint is prismatic.
    """

    still: Floats
    sine: Floats
    cosine: Floats
    slide: Floats
    slides: bool
    parents: Ints
    slots: Ints


def moves_of(tree: Tree) -> Moves:
    """Return the constants of `tree` as kernels take them."""
    still, sine, cosine, slide = (
        np.ascontiguousarray(np.moveaxis(part[..., 0], 2, 0))
        for part in (tree.still, tree.sine, tree.cosine, tree.slide)
    )
    return Moves(still, sine, cosine, slide, tree.slides, tree.parents, tree.slots)


@compiled_step
def place_bodies(moves: Moves, q: Floats, value_of: int, frames: Floats, place_of: int) -> None:
    """Write the frames of the bodies of one robot in its base to `frames` (F, 3, 4), from `place_of` on.

    Its joint values are in `q`, from `value_of` on.
    """
    still, sines, cosines = moves.still, moves.sine, moves.cosine
    for body in range(len(moves.parents)):
        value, here, above = q[value_of + moves.slots[body]], place_of + body, moves.parents[body]
        # A turn about an axis is linear in its sine and cosine: three matrices that do not change with the joint.
        sine, cosine = sin_cos(value)
        for column in range(4):
            x, y, z = still[body, 0, column], still[body, 1, column], still[body, 2, column]
            if column < 3:
                x = (sines[body, 0, column] * sine + cosines[body, 0, column] * cosine) + x
                y = (sines[body, 1, column] * sine + cosines[body, 1, column] * cosine) + y
                z = (sines[body, 2, column] * sine + cosines[body, 2, column] * cosine) + z
            elif moves.slides:
                x = moves.slide[body, 0, 3] * value + x
                y = moves.slide[body, 1, 3] * value + y
                z = moves.slide[body, 2, 3] * value + z
            if above < 0:
                frames[here, 0, column], frames[here, 1, column], frames[here, 2, column] = x, y, z
                continue
            parent = place_of + above
            for row in range(3):
                total = (frames[parent, row, 0] * x + frames[parent, row, 1] * y) + frames[parent, row, 2] * z
                frames[here, row, column] = total if column < 3 else total + frames[parent, row, 3]


@compiled_step
def _place_all(moves: Moves, q: Floats, values: int, frames: Floats) -> None:
    """Place the bodies of all robots, with so many `values` each; after those of a robot comes its base."""
    each = len(moves.parents) + 1
    for robot in range(len(frames) // each):
        place_bodies(moves, q, robot * values, frames, robot * each)


class Forward:
    """The forward kinematics of one tree: a robot's result is the same bit for bit, however many are computed."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._moves = moves_of(tree)
        self._moves_as_memory: Any = numbers_of(self._moves)
        self._frames = np.empty((0, 3, 4))

    def frames(self, q: Floats, *, compiled: bool = False) -> Floats:
        """Return the frames (3, 4, B + 1, N) of all bodies in the base, for joint values `q` (N, B).

        The base is the last body. The next call overwrites the returned array.
        """
        robots, each = len(q), len(self.tree.parents) + 1
        if robots * each > len(self._frames):
            # At least doubled, so that a growing fleet does not allocate anew for each robot.
            self._frames = np.zeros((max(robots * each, 2 * len(self._frames)), 3, 4))
            # The base is the identity in its own frame, and no step writes to it.
            self._frames[each - 1 :: each, [0, 1, 2], [0, 1, 2]] = 1.0
        frames, values = self._frames[: robots * each], np.ascontiguousarray(q).reshape(-1)
        if compiled:
            _place_all(self._moves, values, q.shape[1], frames)
        else:
            _place_all.in_python(self._moves_as_memory, numbers_of(values), q.shape[1], numbers_of(frames))
        return frames.reshape(robots, each, 3, 4).transpose(2, 3, 1, 0)


def orientations(frames: Floats) -> Floats:
    """Return the unit quaternions (N, 4) of frames (3, 3 or 4, N), each with its largest component positive."""
    squares = np.empty((4, frames.shape[2]))
    xx, yy, zz = frames[0, 0], frames[1, 1], frames[2, 2]
    squares[0] = 1.0 + xx - yy - zz
    squares[1] = 1.0 - xx + yy - zz
    squares[2] = 1.0 - xx - yy + zz
    squares[3] = 1.0 + xx + yy + zz
    # Each component times the largest one, all times 4: dividing by the largest loses no accuracy (Shepperd's method).
    products = np.empty((4, 4, frames.shape[2]))
    products[[0, 1, 2, 3], [0, 1, 2, 3]] = squares
    products[0, 1] = products[1, 0] = frames[0, 1] + frames[1, 0]
    products[0, 2] = products[2, 0] = frames[0, 2] + frames[2, 0]
    products[1, 2] = products[2, 1] = frames[1, 2] + frames[2, 1]
    products[0, 3] = products[3, 0] = frames[2, 1] - frames[1, 2]
    products[1, 3] = products[3, 1] = frames[0, 2] - frames[2, 0]
    products[2, 3] = products[3, 2] = frames[1, 0] - frames[0, 1]
    largest = squares.argmax(axis=0)
    robots = np.arange(frames.shape[2])
    chosen: Floats = products[largest, :, robots]
    chosen /= 2.0 * np.sqrt(squares[largest, robots])[:, None]
    return chosen


# The frames of a robot's links as TF has them: <robot>/<link>, each relative to its parent link. The base is
# <robot>/base_link, whatever its name in the description, and also has a frame of its own name. If another link is
# called base_link, the base has only the frame of its own name.


class FrameLink(NamedTuple):
    """The frame `child` in the frame `parent`: position in m and orientation, xyzw; the identity where nothing says."""

    parent: str
    child: str
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)


def base_frame(frames: Frames, robot: str, model: RobotModel | None) -> str:
    """Return the frame of a robot's base."""
    # The robot's frame is usually called base_link; where a link further up has that name, the base keeps its own.
    taken = model is not None and "base_link" in model.link_names
    return frames.link(robot, model.base_name) if model is not None and taken else frames.base(robot)


def link_frame(frames: Frames, robot: str, model: RobotModel | None, link: int) -> str:
    """Return the frame of a link by its number, the base's for BASE."""
    return (
        base_frame(frames, robot, model)
        if model is None or link == BASE
        else frames.link(robot, model.link_names[link])
    )


def moving_links(frames: Frames, robot: str, model: RobotModel) -> list[FrameLink]:
    """Return the links moved by joints, in the order of `model.movable`; their poses are those of the joints."""
    return [_between(frames, robot, model, joint) for joint in model.movable.tolist()]


def fixed_links(frames: Frames, robot: str, model: RobotModel) -> list[FrameLink]:
    """Return the links that never move, with their poses."""
    base, own = base_frame(frames, robot, model), frames.link(robot, model.base_name)
    fixed = [] if base == own else [FrameLink(base, own)]
    for joint, kind in enumerate(model.joint_types.tolist()):
        if kind == FIXED:
            position, orientation = model.joint_positions[joint].tolist(), model.joint_orientations[joint].tolist()
            fixed.append(_between(frames, robot, model, joint)._replace(position=position, orientation=orientation))
    return fixed


def _between(frames: Frames, robot: str, model: RobotModel, joint: int) -> FrameLink:
    above = link_frame(frames, robot, model, int(model.parents[joint]))
    return FrameLink(above, frames.link(robot, model.link_names[joint]))


def joint_frames(model: RobotModel, q: Floats) -> tuple[Floats, Floats]:
    """Return the poses of the child links of the M movable joints in their parent links, for joint values `q` (N, M).

    Positions are (N, M, 3), orientations (N, M, 4).
    """
    joints, robots = model.movable, len(q)
    values = np.ascontiguousarray(q).reshape(-1)
    kinds = np.tile(model.joint_types[joints], robots)
    axes = np.tile(model.axes[joints], (robots, 1))
    turns = quaternions.from_rotation_vectors(axes * np.where(kinds == REVOLUTE, values, 0.0)[:, None])
    slides = axes * np.where(kinds == PRISMATIC, values, 0.0)[:, None]
    positions, orientations = quaternions.compose(
        np.tile(model.joint_positions[joints], (robots, 1)),
        np.tile(model.joint_orientations[joints], (robots, 1)),
        slides,
        turns,
    )
    return positions.reshape(robots, -1, 3), orientations.reshape(robots, -1, 4)
