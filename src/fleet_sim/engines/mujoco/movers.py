"""Kinematic bodies: where they are, and the velocities with which they push what is dynamic; and motors of joints.

A kinematic body that moves gets a velocity for the step, so that contacts push and carry with it, and is put exactly
where its columns say at the end. What jumps farther than SWEEP_LIMIT is put in place without one.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows, span_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.mujoco.bodies import MujocoBodies
from fleet_sim.engines.mujoco.bound import Bound
from fleet_sim.world.joints import AT_FORCE, AT_VELOCITY
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
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


FEW = 24
"""Joints up to which numbers in lists take less time than arrays do."""


class _Orders(NamedTuple):
    """What the motors of all joints (J,) are to do during a step; no mask where it would hold none of them."""

    target: Floats
    command: Floats
    position_gain: Floats
    velocity_gain: Floats
    most: Floats
    least: Floats
    at_velocity: Bools | None
    off: Bools | None

    def velocities(self, positions: Floats, speeds: Floats, dt: float) -> Floats:
        """Return the velocities (J,) to aim at in a substep that begins with these positions and velocities."""
        aims = self.position_gain * (self.target - positions) / dt + speeds - self.velocity_gain * speeds
        aims = np.minimum(np.maximum(aims, self.least), self.most)
        if self.at_velocity is not None:
            rates = speeds + self.velocity_gain * (self.command - speeds)
            aims[self.at_velocity] = rates[self.at_velocity]
        if self.off is not None:
            aims[self.off] = 0.0
        return aims

    def one_by_one(self) -> list[_Order]:
        """Return what the motor of each joint is to do, as numbers."""
        none = np.zeros(len(self.target), np.bool_)
        masks = (none if mask is None else mask for mask in (self.at_velocity, self.off))
        columns = self.target, self.command, self.position_gain, self.velocity_gain, self.most, self.least, *masks
        return list(zip(*(column.tolist() for column in columns), strict=True))


_Order: TypeAlias = tuple[float, float, float, float, float, float, bool, bool]
"""The values of the fields of `_Orders` for one joint."""


def _accelerations(orders: list[_Order], positions: list[float], speeds: list[float], dt: float) -> list[float]:
    """Return the accelerations that lead to the velocities of `_Orders.velocities` in a substep: the same bits."""
    found = []
    for order, position, speed in zip(orders, positions, speeds, strict=True):
        target, command, position_gain, velocity_gain, most, least, at_velocity, off = order
        if off:
            aim = 0.0
        elif at_velocity:
            aim = speed + velocity_gain * (command - speed)
        else:
            aim = position_gain * (target - position) / dt + speed - velocity_gain * speed
            # What is no number stays so. `min` and `max` would take a third of the time of all.
            if aim > most:
                aim = most
            elif aim < least:
                aim = least
        found.append((aim - speed) / dt)
    return found


class MujocoMotors:
    """The motors of the joints of one model.

    A motor is the friction of its joint, towards a velocity that is not 0: MuJoCo solves it together with contacts. A
    motor that is strong enough holds its velocity exactly, and a weak one gives way at its force.
    """

    def __init__(self, world: World, bound: Bound) -> None:
        self._bound = bound
        self.world = world
        joints = world.joints
        numbers = world.robots.model[bound.joint_row]
        models = [world.models[number] for number in numbers.tolist()]
        slots = bound.compiled.joints[:, 1].tolist()
        own = [float(model.friction[model.movable[slot]]) for model, slot in zip(models, slots, strict=True)]
        self._friction: Floats = np.array(own, np.float64)
        """Of the joints themselves (J,), from their files."""
        self._mimics = (joints.leader[bound.slots] != NO_ROW) & world.robots.mimics[bound.joint_row]
        self.efforts: Floats = np.zeros(len(own))
        """Forces (J,) of the motors in the last substep, in N or N m."""
        # Of one robot they follow each other: slices give views, which are cheaper than copies.
        self._slots, self._q, self._v = span_of(bound.slots), span_of(bound.joint_q), span_of(bound.joint_v)
        # Which joint each velocity of the model is of; those of free bodies have no friction, and are never asked for.
        self._joint_of_dof = np.zeros(bound.model.nv, np.int64)
        self._joint_of_dof[bound.joint_v] = np.arange(len(own))
        self._found: Ints = np.empty(0, np.int64)
        self._found_from = b""
        """The joints with a motor, in the order of their constraints, and the bytes from which they were found."""
        self._one_by_one: list[_Order] = []
        """The orders of each joint, where there are few."""
        self._prepared_from: tuple[bytes, ...] = ()
        """The columns that the orders were made from, as bytes."""

    def fits(self, bound: Bound) -> bool:
        """Return whether these are the motors of `bound`."""
        return self._bound is bound

    def prepare(self) -> None:
        """Set what stays during a step: the forces that motors have, and those that are commanded."""
        bound, joints = self._bound, self.world.joints
        if not len(bound.slots):
            return
        slots = self._slots
        columns: tuple[AnyArray, ...] = (
            joints.control,
            joints.command,
            joints.max_force,
            joints.force_limit,
            joints.target,
        )
        columns += (joints.position_gain, joints.velocity_gain, joints.max_velocity)
        prepared_from = tuple([column[slots].tobytes() for column in columns])
        if prepared_from != self._prepared_from:
            self._take_orders()
            self._prepared_from = prepared_from
        bound.data.qfrc_applied[self._v] = self._commanded
        joints.motor_behind[slots] = False

    def _take_orders(self) -> None:
        """Set what follows from the columns of the joints."""
        joints, slots = self.world.joints, self._slots
        control, command, most = joints.control[slots], joints.command[slots], joints.max_velocity[slots]
        forced, at_velocity = control == AT_FORCE, control == AT_VELOCITY
        # The motors of followers are off: gears hold them to their leaders.
        off = forced | self._mimics
        limits = np.minimum(joints.max_force[slots], joints.force_limit[slots])
        self._bound.model.dof_frictionloss[self._v] = np.where(off, self._friction, limits)
        self._commanded = np.where(forced & ~self._mimics, command, 0.0)
        # Copies, as a slice of slots gives views.
        self._orders = _Orders(
            joints.target[slots].copy(),
            command.copy(),
            joints.position_gain[slots].copy(),
            joints.velocity_gain[slots].copy(),
            most.copy(),
            -most,
            at_velocity if at_velocity.any() else None,
            off if off.any() else None,
        )
        self._one_by_one = self._orders.one_by_one() if len(most) <= FEW else []

    def aim(self, dt: float) -> None:
        """Let the motors aim at the velocities of this substep; called when its constraints are known."""
        bound = self._bound
        data = bound.data
        if not len(bound.slots):
            return
        # Constraints are in this order: of gears, of friction, of limits, of contacts. No tendon has friction here.
        first = int(data.ne)
        self._places = slice(first, first + int(data.nf))
        ids = data.efc_id[self._places]
        found_from = ids.tobytes()
        if found_from != self._found_from:
            self._found, self._found_from = self._joint_of_dof[ids], found_from
        positions, speeds = data.qpos[self._q], data.qvel[self._v]
        if self._one_by_one:
            wanted = _accelerations(self._one_by_one, positions.tolist(), speeds.tolist(), dt)
            data.efc_aref[self._places] = [wanted[joint] for joint in self._found.tolist()]
            return
        aims = self._orders.velocities(positions, speeds, dt)
        data.efc_aref[self._places] = ((aims - speeds) / dt)[self._found]

    def measure(self) -> None:
        """Read the forces of the substep that was made."""
        if not len(self.efforts):
            return
        self.efforts = self._commanded.copy()
        self.efforts[self._found] += self._bound.data.efc_force[self._places]
