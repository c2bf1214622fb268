"""Synchronises PyBullet with the columns, and defines which poses a query sees at each point of a step."""

from __future__ import annotations

from typing import get_args

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY, BulletClient
from fleet_sim.bullet.detached import DetachedBodies
from fleet_sim.bullet.filters import EngineFilters
from fleet_sim.bullet.forces import LastingForces
from fleet_sim.bullet.own_shapes import OwnShapes
from fleet_sim.bullet.reactions import JointReactions
from fleet_sim.bullet.self_contacts import LinkPair, SelfContacts
from fleet_sim.config.modes import PoseFlush
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, MissingDependencyError, StateError


class BulletMirror:
    """Keeps one PyBullet world synchronised with the columns.

    With the policy "demand" nothing is imported, connected, made or written until a query needs it (`ensure`). With
    "step" every living row has a body and every changed pose is written in phase 2 of each step. Either way a query
    sees

    - outside a step, and from phase 2 on: the poses of the columns;
    - in phase 1: the poses the last step ended with (of entities spawned in this phase: those of the columns).

    With a window, and once the raw client id was handed out, queries can no longer be intercepted: from then on the
    policy is "step", and poses written outside a step are written to PyBullet at once.
    """

    def __init__(
        self,
        world: World,
        client: BulletClient,
        policy: PoseFlush = "demand",
        *,
        visuals: bool = True,
        inertia_from_file: bool = False,
        margin: float = 0.0,
    ) -> None:
        """Bind to a world and a client; `margin` in m is the distance at which links touch.

        Raises InvalidValueError for an unknown policy.
        """
        if policy not in get_args(PoseFlush):
            raise InvalidValueError(f"pose_flush: expected one of {', '.join(get_args(PoseFlush))}, got {policy!r}")
        self.world = world
        self.client = client
        self.bodies = BulletBodies(world, client, visuals=visuals, inertia_from_file=inertia_from_file)
        self.self_contacts = SelfContacts(self.bodies, margin=margin)
        self.filters = EngineFilters(self.bodies, self.self_contacts)
        self.forces = LastingForces(client)
        self.own_shapes = OwnShapes(client)
        self.reactions = JointReactions(self.bodies)
        self.policy = policy
        self.handed_out = False
        self.keeps_previous = False
        """Whether poses are staged in each step with dynamic rows even if no query needs them; physics sets this."""
        self._any_told = False
        self._in_phase_1 = False
        self._staged = 0
        self._staged_position: Floats = np.empty((0, 3))
        self._staged_orientation: Floats = np.empty((0, 4))
        self._staged_id = np.empty(0, np.int64)
        self._unwritten: Bools = np.empty(0, bool)
        self._staged_joints: Floats = np.empty(0)
        self._unwritten_joints: Bools = np.empty(0, bool)
        world.on_spawn.append(self._spawned)
        self.detached = DetachedBodies(self.bodies)
        world.on_remove += [self.detached.note, self.bodies.remove]

    @property
    def live(self) -> bool:
        """Whether PyBullet may be read without going through the mirror."""
        return self.handed_out or self.client.gui

    @property
    def engine_moves(self) -> bool:
        """Whether the engine has something to move: a dynamic entity, or bodies that the user made."""
        return bool(self.world.dynamic.any()) or self.has_others

    @property
    def has_others(self) -> bool:
        """Whether PyBullet holds bodies that stand for no entity, besides the floor: the user made them."""
        client = self.client
        own = self.bodies.count + (client.floor_id != NO_BODY)
        return client.connected and int(client.getNumBodies()) > own

    @property
    def eager(self) -> bool:
        """Whether every step writes every changed pose."""
        return self.policy == "step" or self.live

    # ---- the step ----------------------------------------------------------------------------------------------------

    def begin_step(self, *, stage: bool = True) -> None:
        """Begin phase 1: until its end, queries of PyBullet see the present poses.

        `stage=False` skips copying the poses, for steps in which no code that may query runs in phase 1.
        """
        self._keep_up()
        if stage or (self.keeps_previous and self.world.dynamic.any()):
            self._stage()
        else:
            # -1: no poses are kept for this step, so a query in phase 1 has nothing it could see.
            self._staged = -1
        self._in_phase_1 = True

    def flush(self) -> int:
        """Phase 2: end phase 1 and, if `eager`, write all changed poses. Returns how many."""
        self._in_phase_1 = False
        return self._keep_up()

    def end_step(self) -> None:
        """End the step, also one that an error broke off: queries see the columns.

        What was written since phase 2, as by handlers of `post_step`, goes to PyBullet where somebody may look at it.
        """
        self._in_phase_1 = False
        self._keep_up()

    def _keep_up(self) -> int:
        """Write what can be looked at without asking; returns how many poses."""
        if self.eager:
            return self._sync(None)
        if not self._any_told:
            return 0
        told = np.flatnonzero(self.bodies.table.told)
        return self._sync(told[self.world.bullet_behind[told] | self.world.robots.joints_behind[told]])

    # ---- demand ------------------------------------------------------------------------------------------------------

    def ensure(self, rows: Rows | None = None) -> None:
        """Bring the bodies of `rows` (default: all living rows) to the poses that a query made now must see."""
        self.client.connect()
        if not self._in_phase_1:
            self._sync(rows)
        elif self.eager:
            # All changed poses were written when the last step ended, and these are what phase 1 must show.
            self._create_missing(self.world.rows if rows is None else rows)
        else:
            self._sync_staged(rows)

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of `row`, created and placed if needed; other rows are not written."""
        self.ensure(np.array([row], np.int64))
        return int(self.bodies.table.body[row])

    def tell_body(self, row: int) -> int:
        """Return the PyBullet body of `row` to someone who may look at it without asking again.

        From now on PyBullet keeps up with that row as it does with all of them after `hand_out`.
        """
        body = self.body_id(row)
        self.bodies.table.told[row] = self._any_told = True
        return body

    def row_of_body(self, body: int) -> int:
        """Return the row that PyBullet `body` stands for, NO_ROW for none. All bodies are made first.

        Without PyBullet installed there are no bodies, and so no row.
        """
        try:
            # Whose body it is does not depend on poses, so this must work in a step without staged ones.
            if self._in_phase_1 and self._staged < 0:
                self.client.connect()
                self._create_missing(self.world.rows)
            else:
                self.ensure()
        except MissingDependencyError:
            return NO_ROW
        return int(self.rows_of_bodies([body])[0])

    def touching_links(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of the robot in `row` that touch each other, by index."""
        self.ensure(np.array([row], np.int64))
        return self.self_contacts.touching(row)

    def rows_of_bodies(self, bodies: object) -> Rows:
        """Return the rows of PyBullet `bodies`, -1 for bodies without an entity (the floor)."""
        return self.bodies.rows_of_bodies(np.asarray(bodies, np.int64))

    def hand_out(self) -> int:
        """Return the raw client id, for use with pybullet's own functions.

        Those calls cannot be intercepted, so from now on all bodies exist, each step writes all changed poses in phase
        2, and poses written outside a step are written to PyBullet at once.
        """
        self.ensure()
        # Only now: in phase 1 `ensure` still has to write the staged poses, which it skips once the mirror is eager.
        self.handed_out = True
        return self.client.id

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step; inside a step it does nothing."""
        if self.world.in_step:
            return
        if self.live:
            self._sync(rows)
        elif self._any_told:
            self._sync(rows[self.bodies.table.told[rows]])

    # ---- whole world -------------------------------------------------------------------------------------------------

    def adopt(self, row: int, body: int) -> None:
        """Make `body`, created by the user in this client, the body of `row`; its pose is read into the columns."""
        self.bodies.adopt(row, body)
        self.world.touch(np.array([row], np.int64))
        self.world.bullet_behind[row] = False

    def reset(self) -> None:
        """Empty PyBullet. Bodies of living rows are created again when needed."""
        self.bodies.forget_all()
        self.forces.clear()
        self.client.reset()
        self.world.bullet_behind[self.world.rows] = True
        self._staged = -1

    def reconcile(self) -> None:
        """Match the bodies to columns that were replaced as a whole, as after restoring a checkpoint."""
        table, world = self.bodies.table, self.world
        held = np.flatnonzero(table.body != NO_BODY)
        # A reused row stands for another entity now, whose body may have another shape.
        misfit_mask = ~world.alive[held] | (table.owner[held] != world.object_id[held])
        self.detached.note(held[misfit_mask])
        self.bodies.remove(held[misfit_mask])
        self.bodies.refresh_masses(held[~misfit_mask])
        world.bullet_behind[world.rows] = True
        if self.live:
            self._sync(None)

    def close(self) -> None:
        """Unsubscribe from the world and disconnect."""
        # It may be closed twice.
        if self._spawned in self.world.on_spawn:
            self.world.on_spawn.remove(self._spawned)
            self.world.on_remove.remove(self.detached.note)
            self.world.on_remove.remove(self.bodies.remove)
        self.bodies.forget_all()
        self.client.close()

    # ---- internals ---------------------------------------------------------------------------------------------------

    def staged_poses(self, rows: Rows) -> tuple[Bools, Floats, Floats]:
        """Return which of `rows` were alive when the step began, and their base poses then, (N, 3) and (N, 4).

        Other rows get the poses of the columns.
        """
        world = self.world
        positions, orientations = world.position[rows], world.orientation[rows]
        known_mask = self._known_mask(rows)
        known = rows[known_mask]
        positions[known_mask] = self._staged_position[known]
        orientations[known_mask] = self._staged_orientation[known]
        return known_mask, positions, orientations

    def staged_joints(self, rows: Rows) -> tuple[Bools, Floats]:
        """Return which of `rows` were alive when the step began, and the positions of all joints then, by slot."""
        return self._known_mask(rows), self._staged_joints

    def _known_mask(self, rows: Rows) -> Bools:
        known_mask: Bools = rows < self._staged
        # A row taken by an entity spawned in this phase has another id than when poses were staged.
        known_mask[known_mask] = self._staged_id[rows[known_mask]] == self.world.object_id[rows[known_mask]]
        return known_mask

    def _spawned(self, rows: Rows) -> None:
        if self.live:
            self.client.connect()
            self._create_missing(rows)

    def _stage(self) -> None:
        world = self.world
        # Kept from step to step and only grown, as staging happens in each step.
        if len(self._staged_position) < world.capacity:
            self._staged_position = np.empty((world.capacity, 3))
            self._staged_orientation = np.empty((world.capacity, 4))
            self._staged_id = np.empty(world.capacity, np.int64)
            self._unwritten = np.empty(world.capacity, bool)
        rows = world.rows
        top = self._staged = int(rows.max()) + 1 if len(rows) else 0
        # Copying whole slices is several times faster than indexing the rows that are behind.
        self._staged_position[:top] = world.position[:top]
        self._staged_orientation[:top] = world.orientation[:top]
        self._staged_id[:top] = world.object_id[:top]
        self._unwritten[:top] = world.bullet_behind[:top]
        self._staged_joints = world.joints.position[: world.joints.used].copy()
        self._unwritten_joints = world.robots.joints_behind[:top].copy()

    def _create_missing(self, rows: Rows) -> None:
        missing = self.bodies.missing(rows)
        if len(missing):
            self._create(missing)

    def _create(self, rows: Rows) -> None:
        world = self.world
        new = self.detached.take_back(rows)
        self.bodies.create(new, world.position[new], world.orientation[new])
        world.bullet_behind[rows] = False
        self.bodies.joints.write(rows, world.joints.position)
        world.robots.joints_behind[rows] = False

    def _sync(self, rows: Rows | None) -> int:
        """Make missing bodies of `rows` and write outdated poses and joints; return the number of poses written."""
        world, bodies = self.world, self.bodies
        created = 0
        # Comparing counts is cheaper than looking at each row, and usually no body is missing.
        if rows is not None or bodies.count < len(world):
            missing = bodies.missing(world.rows if rows is None else rows)
            created = len(missing)
            if created:
                self._create(missing)
        if rows is None:
            behind = np.flatnonzero(world.bullet_behind)
            # Freed rows keep their flags until they are reused.
            behind = behind[bodies.table.body[behind] != NO_BODY]
        else:
            behind = rows[world.bullet_behind[rows]]
        if len(behind):
            bodies.refresh_masses(behind)
            bodies.refresh_materials(behind)
            bodies.refresh_colours(behind)
            bodies.write_poses(behind, world.position[behind], world.orientation[behind])
            world.bullet_behind[behind] = False
        self._sync_joints(rows)
        return created + len(behind)

    def _sync_joints(self, rows: Rows | None) -> None:
        """Write the outdated joints of `rows`."""
        flags = self.world.robots.joints_behind
        behind = np.flatnonzero(flags) if rows is None else rows[flags[rows]]
        behind = behind[self.bodies.table.body[behind] != NO_BODY]
        if len(behind):
            self.bodies.joints.write(behind, self.world.joints.position)
            flags[behind] = False

    def _sync_staged(self, rows: Rows | None) -> None:
        """Like `_sync`, with the poses from the beginning of the step."""
        if self._staged < 0:
            raise StateError(
                "PyBullet was queried in phase 1 of a step begun with stage=False; begin it with stage=True"
            )
        world, bodies = self.world, self.bodies
        rows = world.rows if rows is None else rows
        missing = bodies.missing(rows)
        if len(missing):
            known_mask, positions, orientations = self.staged_poses(missing)
            bodies.create(missing, positions, orientations)
            self._written(missing, known_mask, positions, orientations)
            self._write_staged_joints(missing[known_mask])
            fresh = missing[~known_mask]
            bodies.joints.write(fresh, world.joints.position)
            world.robots.joints_behind[fresh] = False
        candidates = rows[rows < self._staged]
        candidates = candidates[self._unwritten[candidates]]
        if len(candidates):
            known_mask, positions, orientations = self.staged_poses(candidates)
            bodies.write_poses(candidates, positions, orientations)
            self._written(candidates, known_mask, positions, orientations)
        jointed = rows[self._known_mask(rows)]
        self._write_staged_joints(jointed[self._unwritten_joints[jointed]])

    def _write_staged_joints(self, rows: Rows) -> None:
        """Write the joints of `rows`, alive when the step began, at their positions at that time."""
        if not len(rows):
            return
        robots = self.world.robots
        self.bodies.joints.write(rows, self._staged_joints)
        self._unwritten_joints[rows] = False
        # PyBullet now has positions from before this step: what has moved in it is behind again.
        robots.joints_behind[rows] = robots.joints_moved[rows]

    def _written(self, rows: Rows, known_mask: Bools, positions: Floats, orientations: Floats) -> None:
        """Clear the flags of rows whose staged poses were written; rows that moved since then stay outdated."""
        world = self.world
        self._unwritten[rows[known_mask]] = False
        same_mask = (positions == world.position[rows]).all(1) & (orientations == world.orientation[rows]).all(1)
        world.bullet_behind[rows[same_mask]] = False
