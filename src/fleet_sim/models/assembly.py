"""Assembles links and joints from a file into a RobotModel, in PyBullet's order.

The order is depth first from the root link; children of a link are in the order of their joints in the file.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fleet_sim.core.robot_model import BASE, PRISMATIC, REVOLUTE, LinkGeometry, Mimic, RobotModel
from fleet_sim.errors import did_you_mean
from fleet_sim.gate.bounds import LARGEST_MASS, LARGEST_SIZE
from fleet_sim.models.markup import Element
from fleet_sim.models.parts import JointParts, LinkParts

MOST_LINKS = 1000
"""Of one model: PyBullet takes seconds to load more, and ends the process at ten thousand."""
LONGEST_CHAIN = 300
"""Joints one behind the other."""


def assemble(name: str, path: str, root: Element, links: list[LinkParts], joints: list[JointParts]) -> RobotModel:
    """Return the model of `links` and `joints`, which must form one tree.

    Raises InvalidValueError naming the element for a name used twice, a joint between unknown links, a link with two
    parents, a loop, more than one root, or no links.
    """
    if not links:
        raise root.error("has no <link>")
    if len(links) > MOST_LINKS:
        raise root.error(
            f"has {len(links)} links; a model may have {MOST_LINKS}. Spawn its parts as models of their own"
        )
    # All names first: what follows finds parts by name.
    by_name = _unique(links, "link")
    _unique(joints, "joint")
    children = _children(by_name, joints)
    base = _root_link(root, links, joints)
    order = _depth_first(base.name, children)
    # Fewer joints were reached than there are, so the others go round in a circle.
    if len(order) < len(joints):
        raise _loop_error(joints, {joint.name for joint in order})
    _check_depth(base.name, order)
    _check_sizes(links, joints)
    # Built at last, when nothing can be wrong any more.
    return _model(name, path, base, order, by_name)


def _check_depth(base: str, order: list[JointParts]) -> None:
    depths = {base: 0}
    for joint in order:
        # Parents come before children in this order, so their depths are known.
        depths[joint.child] = depth = depths[joint.parent] + 1
        if depth > LONGEST_CHAIN:
            raise joint.element.error(f"more than {LONGEST_CHAIN} joints are one behind the other")


def _check_sizes(links: list[LinkParts], joints: list[JointParts]) -> None:
    """Raise InvalidValueError for what is larger than a body may be; numbers that are none are larger, too."""
    for joint in joints:
        # `not ... <=`, so that NaN is refused too.
        if not max(map(abs, joint.position)) <= LARGEST_SIZE:
            raise joint.element.error(
                f"is {list(joint.position)} from its parent; at most {LARGEST_SIZE:g} m along an axis"
            )
    for link in links:
        inertial = link.inertial
        if not (0.0 <= inertial.mass <= LARGEST_MASS and max(map(abs, inertial.position)) <= LARGEST_SIZE):
            raise link.element.error(
                f"has a mass of {inertial.mass:g} kg; expected 0 to {LARGEST_MASS:g}, near the link"
            )
        for geometry in (*link.visuals, *link.collisions):
            sizes = (*geometry.position, *geometry.half_extents, geometry.radius, geometry.height)
            if not max(map(abs, sizes)) <= LARGEST_SIZE:
                raise link.element.error(f"has a shape larger or farther away than {LARGEST_SIZE:g} m")


def _unique(parts: Iterable[LinkParts] | Iterable[JointParts], kind: str) -> dict[str, LinkParts]:
    found: dict[str, LinkParts] = {}
    for part in parts:
        first = found.setdefault(part.name, part)  # type: ignore[arg-type]  # joints are only checked
        if first is not part:
            raise part.element.error(f"another {kind} is called {part.name!r}, in line {first.element.line}")
    return found


def _children(links: dict[str, LinkParts], joints: list[JointParts]) -> dict[str, list[JointParts]]:
    """Return the joints below each link; raises an error with the line for unknown links, loops and second parents."""
    children: dict[str, list[JointParts]] = {name: [] for name in links}
    parents: dict[str, JointParts] = {}
    for joint in joints:
        # Both ends, as a typing error is as likely in either.
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise joint.element.error(f"there is no {role} link {name!r}.{did_you_mean(name, links)}")
        if joint.parent == joint.child:
            raise joint.element.error(f"joins the link {joint.child!r} to itself")
        first = parents.setdefault(joint.child, joint)
        if first is not joint:
            raise joint.element.error(
                f"the link {joint.child!r} is already the child of joint {first.name!r}, in line {first.element.line}; "
                "a link has one parent"
            )
        children[joint.parent].append(joint)
    return children


def _root_link(root: Element, links: list[LinkParts], joints: list[JointParts]) -> LinkParts:
    """Return the one link that no joint moves; raises an error where there is none, or more than one."""
    moved = {joint.child for joint in joints}
    roots = [link for link in links if link.name not in moved]
    if not roots:
        raise _loop_error(joints, set())
    if len(roots) > 1:
        names = ", ".join(repr(link.name) for link in roots[:8]) + (", ..." if len(roots) > 8 else "")
        raise root.error(f"has {len(roots)} links without a parent joint, {names}; a robot has one root link")
    return roots[0]


def _depth_first(base: str, children: dict[str, list[JointParts]]) -> list[JointParts]:
    """Return joints in PyBullet's order: each before those below it, the first child first."""
    order: list[JointParts] = []
    # A stack: reversed, so that the first child is taken first.
    waiting = children[base][::-1]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting += children[joint.child][::-1]
    return order


def _loop_error(joints: list[JointParts], reached: set[str]) -> Exception:
    """Return the error that names the links of a loop, with the line of one of its joints."""
    above = {joint.child: joint for joint in joints if joint.name not in reached}
    # These links have parents but no root above them, so the way up must meet itself.
    link, seen = next(iter(above)), []
    while link not in seen:
        seen.append(link)
        link = above[link].parent
    loop = [*seen[seen.index(link) :], link]
    return above[link].element.error(f"the links form a loop: {' <- '.join(loop)}; a robot is a tree")


def _model(name: str, path: str, base: LinkParts, order: list[JointParts], by_name: dict[str, LinkParts]) -> RobotModel:
    """Return the model of links and joints, the latter in the order of their numbers."""
    # A joint and its child link have the same number, as in PyBullet.
    index = {base.name: BASE} | {joint.child: number for number, joint in enumerate(order)}
    links = [base] + [by_name[joint.child] for joint in order]
    count = len(order)
    return RobotModel(
        name=name,
        path=path,
        base_name=base.name,
        link_names=tuple(joint.child for joint in order),
        joint_names=tuple(joint.name for joint in order),
        joint_types=np.array([joint.kind for joint in order], np.int64),
        parents=np.array([index[joint.parent] for joint in order], np.int64),
        joint_positions=np.array([joint.position for joint in order], np.float64).reshape(count, 3),
        joint_orientations=np.array([joint.orientation for joint in order], np.float64).reshape(count, 4),
        axes=np.array([joint.axis for joint in order], np.float64).reshape(count, 3),
        lower=np.array([joint.lower for joint in order], np.float64),
        upper=np.array([joint.upper for joint in order], np.float64),
        max_velocities=np.array([joint.max_velocity for joint in order], np.float64),
        max_forces=np.array([joint.max_force for joint in order], np.float64),
        damping=np.array([joint.damping for joint in order], np.float64),
        friction=np.array([joint.friction for joint in order], np.float64),
        inertials=tuple(link.inertial for link in links),
        visuals=tuple(LinkGeometry(at, shape) for at, link in enumerate(links, BASE) for shape in link.visuals),
        collisions=tuple(LinkGeometry(at, shape) for at, link in enumerate(links, BASE) for shape in link.collisions),
        mimics=_mimics(order),
    )


def _mimics(joints: list[JointParts]) -> tuple[Mimic, ...]:
    """Return who follows whom, each by its last leader; raises InvalidValueError for a leader that does not move."""
    index = {joint.name: number for number, joint in enumerate(joints)}
    single = (REVOLUTE, PRISMATIC)
    found: list[Mimic] = []
    for number, joint in enumerate(joints):
        if joint.mimic is None or joint.kind not in single:
            continue
        # Up to the first joint that follows nobody: chains of followers become one step each.
        multiplier, offset, at, passed = 1.0, 0.0, joint, {joint.name}
        while at.mimic is not None:
            part, element = at.mimic, at.mimic.element
            if part.leader not in index:
                raise element.error(f"there is no joint {part.leader!r}.{did_you_mean(part.leader, index)}")
            if part.leader in passed:
                raise element.error(f"the joint {part.leader!r} would follow itself")
            offset += multiplier * part.offset
            multiplier *= part.multiplier
            at = joints[index[part.leader]]
            passed.add(at.name)
            if at.kind not in single:
                raise element.error(f"the joint {at.name!r} has no position to follow; name one that turns or slides")
        found.append(Mimic(number, index[at.name], multiplier, offset))
    return tuple(found)
