"""Kinematic bodies: where they are, and the velocities with which they push, carry and drag what is dynamic.

A kinematic body that moves gets a velocity for the step, so that contacts push and carry with it, and is put exactly
where its columns say at the end. What jumps farther than SWEEP_LIMIT is put in place without one.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.mujoco.bodies import MujocoBodies
from fleet_sim.engines.mujoco.bound import Bound
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.shapes import BASE
from fleet_sim.world.world import World

SWEEP_LIMIT = 1.0
"""Distance in one step (m) above which a kinematic body counts as teleported, not as driven."""
_CREEP = 1e-7
"""Distance in m, and part of a turn, by which contacts move heavy bodies until they sleep."""
_WXYZ = [3, 0, 1, 2]


class Movers:
    """Moves the kinematic bodies of a model from their poses at the beginning of a step to those at its end."""

    def __init__(self, world: World, bodies: MujocoBodies) -> None:
        self._world = world
        self._bodies = bodies
        self._bound: Bound | None = None
        self._positions: Floats = np.empty((0, 3))
        self._turns: Floats = np.empty((0, 4))
        self._moving: Bools = np.empty(0, np.bool_)
        self._velocity: Floats = np.empty((0, 6))
        self._last: tuple[Floats, Floats, Floats] | None = None
        self._seen: tuple[bytes, ...] = ()
        self._begun: tuple[Ints, Floats, Floats] | None = None
        self._misplaced = False
        """Whether the data has older poses than those at the beginning of the step."""
        self._rows: Rows = np.empty(0, np.int64)
        self._slots: Ints = np.empty(0, np.int64)
        self._driven: Rows = np.empty(0, np.int64)
        """Of the pieces: their rows (P,), the slots of the joints of these rows, and which pieces have velocities."""
        self._driven_q: Ints = np.empty((0, 7), np.int64)
        self._driven_v: Ints = np.empty((0, 6), np.int64)
        self._there = b""
        """Where the driven ones are by their columns, as the bytes of MuJoCo's positions; empty: not known."""

    def begin_step(self) -> None:
        """Note where all rows are: what was put elsewhere since the last step has not swept there."""
        world = self._world
        self._begun = world.object_id.copy(), world.position.copy(), world.orientation.copy()
        if self._bound is not None and self._bound is self._bodies.bound:
            self._misplaced |= self._place()

    def find_driven(self) -> None:
        """Remember which entities move in this step though they are no agents: they have a velocity from now on."""
        world = self._world
        moved = world.moved.nonzero()[0]
        if not len(moved):
            return
        rows = moved[world.alive[moved] & ~world.dynamic[moved] & (world.kind[moved] != KIND_AGENT)]
        if len(rows):
            before, _, known_mask = self._begun_at(rows)
            travel = world.position[rows] - before
            # What went farther was put there, and has pushed nothing on the way.
            swept_mask = known_mask & travel.any(1) & ((travel * travel).sum(1) <= SWEEP_LIMIT**2)
            self._bodies.driven.update(world.object_id[rows[swept_mask]].tolist())

    def start(self, bound: Bound, dt: float) -> bool:
        """Bring all of them to where they begin this step, with the velocities of those that move; return if any do."""
        joints = None if self._last is None or bound is not self._bound else self._last[2]
        if bound is not self._bound:
            self._rebind(bound)
        if not len(self._rows):
            misplaced, self._misplaced = self._misplaced, False
            return misplaced
        before, before_turns = self._positions, self._turns
        self._moving = np.zeros(len(before), np.bool_)
        moved = self._place()
        if not moved and not self._misplaced:
            return False
        travel = self._positions - before
        turn = quaternions.to_rotation_vectors(quaternions.multiply(self._turns, quaternions.conjugate(before_turns)))
        self._moving = (travel.any(1) | turn.any(1)) & ((travel * travel).sum(1) <= SWEEP_LIMIT**2)
        self._moving &= ~self._too_fast(joints, dt) & (bound.compiled.pieces[:, 4] >= 0)
        self._velocity = np.concatenate((travel, turn), axis=1) / dt
        changed_mask = travel.any(1) | turn.any(1) | self._misplaced
        sweeping = self._moving[:, None]
        # Those that move start where they were and get there by their velocities; all others are put in place now.
        starts = np.where(sweeping, before, self._positions), np.where(sweeping, before_turns, self._turns)
        self._write(np.arange(len(before)), *starts)
        self._misplaced = False
        # What is put elsewhere may have carried what sleeps on it; what is driven wakes that up by itself.
        if (changed_mask & ~self._moving).any():
            bound.wake(range(bound.model.ntree))
        return True

    def follow(self, bound: Bound) -> None:
        """Go on with a model of the same rows in the same state."""
        self._bound = bound

    def settle(self, bound: Bound) -> None:
        """Put all of them to where their columns say now: the next step begins there."""
        if bound is not self._bound:
            self._go_on_with(bound)
        self._place()
        self._write(np.arange(len(bound.compiled.pieces)), self._positions, self._turns)
        self._moving = np.zeros(len(self._positions), np.bool_)
        self._misplaced = False

    def forget(self) -> None:
        """Forget the model, and where anything was."""
        self._bound, self._last, self._begun, self._misplaced = None, None, None, False

    def _rebind(self, bound: Bound) -> None:
        """Take over another model: its pieces begin where their rows began this step, as rigid as they are now."""
        self._misplaced = True
        self._go_on_with(bound)
        self._place()
        # Found again at the end of the step.
        self._last = None
        rows = bound.rows[bound.compiled.pieces[:, 0]]
        start, start_turn, known_mask = self._begun_at(rows)
        world = self._world
        # Not by rounding: what stands still has not moved by the least bit.
        known_mask &= (start != world.position[rows]).any(1) | (start_turn != world.orientation[rows]).any(1)
        relative = quaternions.relative(world.position[rows], world.orientation[rows], self._positions, self._turns)
        places, turns = quaternions.compose(start, start_turn, *relative)
        # A base is its entity's pose itself, without the rounding of composing.
        based = bound.compiled.pieces[:, 1] == BASE
        places[based], turns[based] = start[based], start_turn[based]
        self._positions = np.where(known_mask[:, None], places, self._positions)
        self._turns = np.where(known_mask[:, None], turns, self._turns)

    def _begun_at(self, rows: Rows) -> tuple[Floats, Floats, Bools]:
        """Return the poses (N, 3), (N, 4) of `rows` at the beginning of the step, and which of them were there."""
        world = self._world
        positions, turns = world.position[rows], world.orientation[rows]
        known_mask = np.zeros(len(rows), np.bool_)
        if self._begun is not None:
            ids, places, orientations = self._begun
            known_mask = rows < len(ids)
            # A row may belong to another entity by now.
            known_mask[known_mask] = ids[rows[known_mask]] == world.object_id[rows[known_mask]]
            positions[known_mask] = places[rows[known_mask]]
            turns[known_mask] = orientations[rows[known_mask]]
        return positions, turns, known_mask

    def drive(self, bound: Bound) -> None:
        """Give those that move their velocities, before each substep: contacts take a little of them."""
        if not np.count_nonzero(self._moving):
            return
        pieces = bound.compiled.pieces
        chosen = self._driven[self._moving[self._driven]]
        at = pieces[chosen, 4][:, None]
        # MuJoCo's quaternions have w first.
        turns = bound.data.qpos[pieces[chosen, 3][:, None] + np.arange(3, 7)][:, [1, 2, 3, 0]]
        bound.data.qvel[at + np.arange(3)] = self._velocity[chosen, :3]
        # Free joints take turning speeds in the axes of the body.
        local = quaternions.rotate(quaternions.conjugate(turns), self._velocity[chosen, 3:])
        bound.data.qvel[at + np.arange(3, 6)] = local

    def stop(self, bound: Bound) -> None:
        """Put all that are driven exactly to where their columns say, at rest."""
        if not len(self._driven):
            return
        if not self._there:
            turns = self._turns[self._driven][:, _WXYZ]
            self._there = np.concatenate((self._positions[self._driven], turns), axis=1).tobytes()
        data = bound.data
        # Mostly they stand where they stood, and nothing touched them.
        if data.qpos[self._driven_q].tobytes() != self._there or np.count_nonzero(data.qvel[self._driven_v]):
            self._write(self._driven, self._positions, self._turns)

    def standing(self, bound: Bound) -> Ints:
        """Return the trees (K,) of those that could move with a velocity, and did not in this step."""
        pieces, model = bound.compiled.pieces, bound.model
        at = pieces[~self._moving & (pieces[:, 4] >= 0), 4]
        return np.asarray(model.dof_treeid[at], np.int64)

    def _place(self) -> bool:
        """Find where all pieces are now; return whether any may have moved."""
        world, bound = self._world, self._bound
        assert bound is not None
        rows = self._rows
        if self._last is not None and not len(rows):
            return False
        places, turns = world.position.take(rows, axis=0), world.orientation.take(rows, axis=0)
        now = places, turns, world.joints.position[self._slots]
        # As bytes, which is one comparison; other bits of equal numbers count as moved, which does no harm.
        seen = tuple(values.tobytes() for values in now)
        if (self._last is not None and seen == self._seen) or not world.alive[rows].all():
            return False
        self._last, self._seen = now, seen
        self._positions, self._turns = world.link_poses(rows, bound.compiled.pieces[:, 1])
        self._there = b""
        return True

    def _go_on_with(self, bound: Bound) -> None:
        """Note what stays as long as `bound` is the model."""
        world, pieces = self._world, bound.compiled.pieces
        self._bound, self._last = bound, None
        self._moving = np.zeros(len(pieces), np.bool_)
        rows = self._rows = bound.rows[pieces[:, 0]]
        jointed = rows[(pieces[:, 1] != BASE) & (world.robots.joint_count[rows] > 0)]
        self._slots = world.joints.slots(world.robots, np.unique(jointed))
        self._driven = np.flatnonzero(pieces[:, 4] >= 0)
        self._driven_q = pieces[self._driven, 3][:, None] + np.arange(7)
        self._driven_v = pieces[self._driven, 4][:, None] + np.arange(6)
        self._there = b""

    def _too_fast(self, before: Floats | None, dt: float) -> Bools:
        """Return which pieces (P,) are of robots whose joints were set to their positions, and not driven there."""
        world, bound = self._world, self._bound
        assert bound is not None and self._last is not None
        pieces = bound.compiled.pieces
        rows = bound.rows[pieces[:, 0]]
        after = self._last[2]
        mask = np.zeros(len(rows), np.bool_)
        if before is None or len(before) != len(after) or not len(after):
            return mask
        jointed = np.unique(rows[(pieces[:, 1] != BASE) & (world.robots.joint_count[rows] > 0)])
        slots = world.joints.slots(world.robots, jointed)
        # Faster than joints can be driven, with some room for rounding.
        fast = np.abs(after - before) > 2.0 * world.joints.max_velocity[slots] * dt
        return np.isin(rows, world.joints.robot[slots[fast]])

    def _sleeps_there(self, driven: Rows, positions: Floats, turns: Floats) -> Bools:
        """Return which of the `driven` pieces sleep at their poses, but for what contacts took of them before.

        MuJoCo wakes up what is put elsewhere, by the least bit, and all that lies on it.
        """
        bound = self._bound
        assert bound is not None
        data, pieces = bound.data, bound.compiled.pieces[driven]
        mask: Bools = data.tree_asleep[bound.model.dof_treeid[pieces[:, 4]]] >= 0
        if mask.any():
            at = data.qpos[pieces[:, 3][:, None] + np.arange(7)]
            there = np.concatenate((positions[driven], turns[driven][:, _WXYZ]), axis=1)
            mask &= (np.abs(at - there) < _CREEP).all(axis=1)
        return mask

    def _write(self, chosen: Rows, positions: Floats, turns: Floats) -> None:
        """Write poses (P, 3), (P, 4) of the `chosen` of all pieces, at rest."""
        bound = self._bound
        assert bound is not None
        data, pieces = bound.data, bound.compiled.pieces
        # Some pieces are mocap bodies, the others have a free joint.
        mocap = chosen[pieces[chosen, 2] >= 0]
        data.mocap_pos[pieces[mocap, 2]] = positions[mocap]
        data.mocap_quat[pieces[mocap, 2]] = turns[mocap][:, _WXYZ]
        driven = chosen[pieces[chosen, 4] >= 0]
        driven = driven[~self._sleeps_there(driven, positions, turns)]
        at = pieces[driven, 3][:, None]
        data.qpos[at + np.arange(3)] = positions[driven]
        data.qpos[at + np.arange(3, 7)] = turns[driven][:, _WXYZ]
        data.qvel[pieces[driven, 4][:, None] + np.arange(6)] = 0.0
