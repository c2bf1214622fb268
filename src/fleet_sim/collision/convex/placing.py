"""Where pieces are in the world."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.collision.convex.tables import BODY, KIND, PLANE, Pieces, Placed, Scratch
from fleet_sim.kernels import compiled


@compiled
def place_pieces(
    pieces: Pieces,
    firsts: Ints,
    chosen: Rows,
    positions: Floats,
    orientations: Floats,
    frames: Floats,
    columns: Ints,
    placed: Placed,
    scratch: Scratch,
) -> None:
    """Place the pieces of the entities `chosen` (M,) of N, of which entity n has those from `firsts[n]` (N,) on.

    `positions` (N, 3) and `orientations` (N, 4) are the poses of the entities' bases. `frames` (3, 4, B + 1, R) are
    those of the bodies of robots of one model, that of `chosen[m]` in column `columns[m]`.
    """
    base, body = scratch.poses[0], scratch.poses[1]
    for index in range(len(chosen)):
        entity, column = chosen[index], columns[index]
        _as_pose(positions, orientations, entity, base)
        lowest = placed.around[entity]
        for axis in range(3):
            lowest[axis], lowest[3 + axis] = np.inf, -np.inf
        for place in range(placed.begins[entity], placed.begins[entity + 1]):
            piece = firsts[entity] + place - placed.begins[entity]
            placed.numbers[place] = piece
            moved = pieces.codes[piece, BODY]
            if moved < 0:
                _compose(base, pieces.places[piece], placed.poses[place])
            else:
                _as_frame(frames, moved, column, body)
                # Two steps, in the order of the chain: the same bits for each robot of the model.
                _compose(body, pieces.places[piece], placed.poses[place])
                for number in range(12):
                    body[number] = placed.poses[place, number]
                _compose(base, body, placed.poses[place])
            _box(pieces.codes[piece, KIND], pieces.boxes[piece], placed.poses[place], placed.boxes[place])
            for axis in range(3):
                lowest[axis] = min(lowest[axis], placed.boxes[place, axis])
                lowest[3 + axis] = max(lowest[3 + axis], placed.boxes[place, 3 + axis])


@compiled
def _as_frame(frames: Floats, moved: int, column: int, out: Floats) -> None:
    for line in range(3):
        for axis in range(3):
            out[3 * line + axis] = frames[line, axis, moved, column]
        out[9 + line] = frames[line, 3, moved, column]


@compiled
def _as_pose(positions: Floats, orientations: Floats, row: int, out: Floats) -> None:
    x, y, z, w = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
    out[0], out[1], out[2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)
    out[3], out[4], out[5] = 2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)
    out[6], out[7], out[8] = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)
    out[9], out[10], out[11] = positions[row, 0], positions[row, 1], positions[row, 2]


@compiled
def _compose(outer: Floats, inner: Floats, out: Floats) -> None:
    for line in range(3):
        a, b, c = outer[3 * line], outer[3 * line + 1], outer[3 * line + 2]
        for column in range(3):
            out[3 * line + column] = a * inner[column] + b * inner[3 + column] + c * inner[6 + column]
        out[9 + line] = a * inner[9] + b * inner[10] + c * inner[11] + outer[9 + line]


@compiled
def _box(kind: int, box: Floats, pose: Floats, out: Floats) -> None:
    """Write the lower and the upper corner (6,) of the world box around a piece with a box of its own."""
    for line in range(3):
        if kind == PLANE:
            # A plane has no end in any direction.
            out[line], out[3 + line] = -np.inf, np.inf
            continue
        a, b, c = pose[3 * line], pose[3 * line + 1], pose[3 * line + 2]
        centre = a * box[0] + b * box[1] + c * box[2] + pose[9 + line]
        # |R| times the half extents.
        half = abs(a) * box[3] + abs(b) * box[4] + abs(c) * box[5]
        out[line], out[3 + line] = centre - half, centre + half
