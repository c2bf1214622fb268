"""Rays in any direction against targets, by compiled code, with the bits of `rays`.

A ray goes through a tree of boxes from near to far, and leaves out what is behind the nearest thing met so far.
Surfaces have trees of their own, in their own frames.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.sensors.compiled_shapes import (
    enter_box,
    enter_capsule,
    enter_cylinder,
    enter_hull,
    enter_sphere,
    meet_plane,
    meet_triangle,
)
from fleet_sim.sensors.targets import (
    BOX,
    CAPSULE,
    CYLINDER,
    FIRST,
    HULL,
    LAST,
    PER_LEAF,
    PLANE,
    SPHERE,
    SURFACE,
    TRIANGLES,
    Sorted,
    Targets,
)
from fleet_sim.spatial.box_tree import NEAR_ZERO

_BEHIND = 1e-9
"""Of the distance to a box: it is left out if it is so much behind what was met, which is more than rounding."""


Line: TypeAlias = tuple[float, float, float, float, float, float, float]
"""Where a ray begins, the inverse components of its direction, and its reach."""


class Beams(NamedTuple):
    """R rays: `origins` and unit `directions` (R, 3), `inverse` (R, 3) their inverse components, infinite for 0.

    `reach` (R,) in m; `own` (R,) rows of entities that are not met, -1 for none.
    """

    origins: Floats
    directions: Floats
    inverse: Floats
    reach: Floats
    own: Rows


class RayScratch(NamedTuple):
    """Arrays that the kernel computes in: `nodes` of trees that are still to be looked into, and how far they are."""

    nodes: Ints
    ranges: Floats


@compiled_step
def cast_beams(
    beams: Beams, targets: Targets, tree: Sorted, scratch: RayScratch, ranges: Floats, met: Ints, triangles: Ints
) -> None:
    """Write how far each beam goes, which target it meets, and which triangle of that, -1 for none, (R,) each."""
    inner = len(tree.boxes) // 2
    for beam in range(len(ranges)):
        ranges[beam], met[beam], triangles[beam] = math.inf, -1, -1
        # Planes have no box, so they are not in the tree: every beam tries them.
        for place in range(len(tree.endless)):
            _try(beams, beam, targets, tree.endless[place], ranges, met)
        if not len(tree.order):
            continue
        x, y, z = beams.origins[beam, 0], beams.origins[beam, 1], beams.origins[beam, 2]
        u, v, w = beams.inverse[beam, 0], beams.inverse[beam, 1], beams.inverse[beam, 2]
        line = x, y, z, u, v, w, beams.reach[beam]
        height = _push(line, tree.boxes, 0, 0, ranges[beam], scratch, 0)
        while height > 0:
            height -= 1
            node = scratch.nodes[height]
            # Something nearer was met since this node was pushed.
            if _is_behind(scratch.ranges[height], ranges[beam]):
                continue
            if node < inner:
                height = _push_both(line, tree.boxes, 0, node, ranges[beam], scratch, height)
                continue
            for place in range(tree.leaf * (node - inner), tree.leaf * (node - inner + 1)):
                target = tree.order[place]
                if targets.kinds[target] == SURFACE:
                    _try_surface(beams, beam, targets, target, scratch, height, ranges, met, triangles)
                elif _try(beams, beam, targets, target, ranges, met):
                    # What is met now has no triangles; a surface that was met before may have left one.
                    triangles[beam] = -1


@inlined
def _is_behind(near: float, known: float) -> bool:
    return near > known + _BEHIND * (1.0 + abs(near))


@inlined
def _push(line: Line, boxes: Floats, first: int, node: int, known: float, scratch: RayScratch, height: int) -> int:
    """Push a node on the stack if a line goes through its box nearer than `known`; return the new height."""
    near = _pierced(line, boxes, first + node)
    if near == math.inf or _is_behind(near, known):
        return height
    scratch.nodes[height], scratch.ranges[height] = node, near
    return height + 1


@inlined
def _push_both(line: Line, boxes: Floats, first: int, node: int, known: float, scratch: RayScratch, height: int) -> int:
    """Push the two nodes below one, the nearer one last, as it is looked into first; return the new height."""
    begin = height
    height = _push(line, boxes, first, 2 * node + 2, known, scratch, height)
    height = _push(line, boxes, first, 2 * node + 1, known, scratch, height)
    if height == begin + 2 and scratch.ranges[begin] < scratch.ranges[begin + 1]:
        near = scratch.ranges[begin]
        scratch.nodes[begin], scratch.nodes[begin + 1] = 2 * node + 1, 2 * node + 2
        scratch.ranges[begin], scratch.ranges[begin + 1] = scratch.ranges[begin + 1], near
    return height


@inlined
def _pierced(line: Line, boxes: Floats, box: int) -> float:
    """Return where a line goes into a box, as `BoxTree.pierced`; inf if it does not."""
    enter, leave, reach = -math.inf, math.inf, line[6]
    for axis in range(3):
        origin, inverse = line[axis], line[3 + axis]
        one, other = (boxes[box, axis] - origin) * inverse, (boxes[box, 3 + axis] - origin) * inverse
        # 0 times infinity: the line runs in the plane of a side, and this axis excludes nothing.
        # NaN, which is not a number, differs from itself.
        if one == one and other == other:
            enter, leave = max(enter, min(one, other)), min(leave, max(one, other))
    # Relative to the numbers, so that rounding loses nothing that touches the box.
    slack = NEAR_ZERO * (1.0 + (abs(enter) if abs(enter) < math.inf else 0.0))
    inside = enter <= leave + slack and leave >= -slack and enter <= reach + slack
    return enter if inside else math.inf


@compiled_step
def _try(beams: Beams, beam: int, targets: Targets, target: int, ranges: Floats, met: Ints) -> bool:
    """Let a beam meet a convex target or a plane; return whether it is what the beam meets so far."""
    own, kind, size = beams.own[beam], targets.kinds[target], targets.sizes[target]
    # A sensor does not see its own entity.
    if own >= 0 and own == targets.rows[target]:
        return False
    x, y, z, u, v, w = _local(beams, beam, targets.frames[target])
    if kind == PLANE:
        return _keep(beams, beam, target, meet_plane(z, w), ranges, met)
    found = math.inf
    if kind == BOX:
        found = enter_box(x, y, z, u, v, w, size)
    elif kind == SPHERE:
        found = enter_sphere(x, y, z, u, v, w, size[3])
    elif kind == CYLINDER:
        found = enter_cylinder(x, y, z, u, v, w, size[3], size[2])
    elif kind == CAPSULE:
        found = enter_capsule(x, y, z, u, v, w, size[3], size[2] - size[3])
    elif kind == HULL:
        part = targets.parts[target]
        found = enter_hull(x, y, z, u, v, w, targets.planes, part[FIRST], part[LAST])
    return _keep(beams, beam, target, found, ranges, met)


@inlined
def _local(beams: Beams, beam: int, frame: Floats) -> tuple[float, float, float, float, float, float]:
    """Return where a beam begins and how it goes in a frame."""
    a, b, c = beams.origins[beam, 0] - frame[9], beams.origins[beam, 1] - frame[10], beams.origins[beam, 2] - frame[11]
    d, e, f = beams.directions[beam, 0], beams.directions[beam, 1], beams.directions[beam, 2]
    # By columns: the inverse of a rotation is its transpose.
    return (
        frame[0] * a + frame[3] * b + frame[6] * c,
        frame[1] * a + frame[4] * b + frame[7] * c,
        frame[2] * a + frame[5] * b + frame[8] * c,
        frame[0] * d + frame[3] * e + frame[6] * f,
        frame[1] * d + frame[4] * e + frame[7] * f,
        frame[2] * d + frame[5] * e + frame[8] * f,
    )


@inlined
def _keep(beams: Beams, beam: int, target: int, found: float, ranges: Floats, met: Ints) -> bool:
    if found > beams.reach[beam] or found > ranges[beam] or found == math.inf:
        return False
    # Of several at one distance the first counts, as on arrays.
    if found == ranges[beam] and met[beam] <= target:
        return False
    ranges[beam], met[beam] = found, target
    return True


@compiled_step
def _try_surface(
    beams: Beams,
    beam: int,
    targets: Targets,
    target: int,
    scratch: RayScratch,
    base: int,
    ranges: Floats,
    met: Ints,
    triangles: Ints,
) -> None:
    """Let a beam meet the triangles of a surface; the nodes on the stack from `base` on are its own."""
    own, part = beams.own[beam], targets.parts[target]
    if own >= 0 and own == targets.rows[target]:
        return
    x, y, z, u, v, w = _local(beams, beam, targets.frames[target])
    line = x, y, z, 1.0 / u, 1.0 / v, 1.0 / w, beams.reach[beam]
    first, inner, leaf = part[FIRST], (part[LAST] - part[FIRST]) // 2, part[PER_LEAF]
    height = _push(line, targets.boxes, first, 0, ranges[beam], scratch, base)
    while height > base:
        height -= 1
        node = scratch.nodes[height]
        if _is_behind(scratch.ranges[height], ranges[beam]):
            continue
        if node < inner:
            height = _push_both(line, targets.boxes, first, node, ranges[beam], scratch, height)
            continue
        begin = part[TRIANGLES] + leaf * (node - inner)
        for place in range(begin, begin + leaf):
            found, number = meet_triangle(x, y, z, u, v, w, targets.triangles[place]), targets.order[place]
            # Triangles share edges: of two at one distance the lower number counts, in whatever order the tree has
            # them.
            if _keep(beams, beam, target, found, ranges, met) or (
                found == ranges[beam] and met[beam] == target and number < triangles[beam]
            ):
                triangles[beam] = number


def new_ray_scratch() -> RayScratch:
    """Return room for the nodes of a tree of targets, and in one of them of the tree of a surface."""
    return RayScratch(np.empty(160, np.int64), np.empty(160))
