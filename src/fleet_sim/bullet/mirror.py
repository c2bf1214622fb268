"""Synchronises PyBullet with the columns, and defines which poses a query sees at each point of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY, BulletClient
from fleet_sim.bullet.detached import DetachedBodies
from fleet_sim.bullet.filters import EngineFilters
from fleet_sim.bullet.forces import LastingForces
from fleet_sim.bullet.own_shapes import OwnShapes
from fleet_sim.bullet.pose_writer import PoseWriter
from fleet_sim.bullet.reactions import JointReactions
from fleet_sim.bullet.staged_poses import StagedPoses
from fleet_sim.config.modes import PoseFlush
from fleet_sim.core.collision_rules import LinkPairs, no_links
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.shapes import Vector
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
        exempt_links: LinkPairs = no_links,
    ) -> None:
        """Bind to a world and a client; `exempt_links` tells which links of a robot do not push each other.

        Raises InvalidValueError for an unknown policy.
        """
        _check_policy(policy)
        self.world = world
        self.client = client
        self.bodies = BulletBodies(world, client, visuals=visuals, inertia_from_file=inertia_from_file)
        self.filters = EngineFilters(self.bodies, exempt_links)
        self.forces = LastingForces(client, self.bodies.body_of_subject)
        self.own_shapes = OwnShapes(client)
        self.reactions = JointReactions(self.bodies)
        self.policy = policy
        self.handed_out = False
        self.called_by_user = False
        """Whether the user has ever called PyBullet through `sim.bullet`."""
        self.keeps_previous = False
        """Whether poses are staged in each step with dynamic rows even if no query needs them; physics sets this."""
        self.on_gravity: Callable[[Vector], object] | None = None
        """Hears of another gravity."""
        self.read_back: Callable[[Rows], None] = lambda rows: None
        """Copies rows from the engine into the columns; physics sets it."""
        self.on_read: Callable[[Rows], object] | None = None
        """Hears of rows that were written through PyBullet outside a step: what they carry follows."""
        self.refused = ""
        """Why users may not use PyBullet here, where another engine moves the world; "" where they may."""
        self._any_told = False
        self.keeps_up = policy == "step" or client.gui
        """Whether each step writes poses that changed, of all rows or of those whose body somebody was told."""
        self._in_phase_1 = self._reading = False
        self.staged = StagedPoses(world)
        self.detached = DetachedBodies(self.bodies)
        self._writer = PoseWriter(world, self.bodies, self.detached, self.staged)
        self._follow_population()

    def _follow_population(self) -> None:
        """Hear of all that is spawned and removed from now on."""
        self.world.on_spawn.append(self._spawned)
        # Detached bodies are noted first: the second forgets whose body it was.
        self.world.on_remove += [self.detached.note, self.bodies.remove]

    @property
    def live(self) -> bool:
        """Whether PyBullet may be read without going through the mirror."""
        return self.handed_out or self.client.gui

    @property
    def known_to_user(self) -> bool:
        """Whether the user may have numbers, things or settings of this engine, which emptying it would make void."""
        return self.live or self.called_by_user or self._any_told or bool(self.bodies.table.adopted.any())

    @property
    def engine_moves(self) -> bool:
        """Whether the engine has something to move: a dynamic entity, or bodies that the user made."""
        return bool(self.world.dynamic.any()) or self.has_others

    @property
    def has_others(self) -> bool:
        """Whether PyBullet holds bodies that stand for no entity, besides the floor: the user made them."""
        client = self.client
        # The floor is ours though it stands for no entity.
        own = self.bodies.count + (client.floor_id != NO_BODY)
        return client.connected and int(client.getNumBodies()) > own

    @property
    def eager(self) -> bool:
        """Whether every step writes every changed pose."""
        return self.policy == "step" or self.live

    def set_gravity(self, gravity: Vector) -> None:
        """Set the gravity of the world, in the engine too."""
        self.world.gravity = gravity
        self.client.set_gravity(gravity)
        if self.on_gravity is not None:
            self.on_gravity(gravity)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def begin_step(self, *, stage: bool = True) -> None:
        """Begin phase 1: until its end, queries of PyBullet see the present poses.

        `stage=False` skips copying the poses, for steps in which no code that may query runs in phase 1.
        """
        if self.keeps_up:
            self._keep_up()
        if stage or (self.keeps_previous and self.world.dynamic.any()):
            self.staged.take()
        else:
            self.staged.drop()
        self._in_phase_1 = True

    def flush(self) -> int:
        """Phase 2: end phase 1 and, if `eager`, write all changed poses. Returns how many."""
        self._in_phase_1 = False
        return self._keep_up() if self.keeps_up else 0

    def end_step(self) -> None:
        """End the step, also one that an error broke off: queries see the columns.

        What was written since phase 2, as by handlers of `post_step`, goes to PyBullet where somebody may look at it.
        """
        self._in_phase_1 = False
        if self.keeps_up:
            self._keep_up()

    def _keep_up(self) -> int:
        """Write what can be looked at without asking; returns how many poses."""
        if self.eager:
            return self._writer.write(None)
        told = np.flatnonzero(self.bodies.table.told)
        return self._writer.write(told[self.world.bullet_behind[told] | self.world.robots.joints_behind[told]])

    # ---- demand ------------------------------------------------------------------------------------------------------

    def ensure(self, rows: Rows | None = None) -> None:
        """Bring the bodies of `rows` (default: all living rows) to the poses that a query made now must see."""
        self.client.connect()
        if not self._in_phase_1:
            self._writer.write(rows)
        elif self.eager:
            # All changed poses were written when the last step ended, and these are what phase 1 must show.
            self._writer.make_missing(self.world.rows if rows is None else rows)
        else:
            self._writer.write_staged(rows)

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of `row`, created and placed if needed; other rows are not written."""
        self.ensure(np.array([row], np.int64))
        return int(self.bodies.table.body[row])

    def tell_body(self, row: int) -> int:
        """Return the PyBullet body of `row` to a caller who may use it later without asking again.

        From now on PyBullet keeps up with that row as it does with all of them after `hand_out`.
        """
        body = self.body_id(row)
        self.bodies.table.told[row] = self._any_told = self.keeps_up = True
        return body

    def row_of_body(self, body: int) -> int:
        """Return the row that PyBullet `body` stands for, NO_ROW for none. All bodies are made first.

        Without PyBullet installed there are no bodies, and so no row.
        """
        try:
            # Whose body it is does not depend on poses, so this must work in a step without staged ones.
            if self._in_phase_1 and not self.staged.taken:
                self.client.connect()
                self._writer.make_missing(self.world.rows)
            else:
                self.ensure()
        except MissingDependencyError:
            return NO_ROW
        return int(self.rows_of_bodies([body])[0])

    def other_body(self, body: int) -> str:
        """Return what PyBullet `body` is that stands for no entity; "" where there is no such body."""
        if not self.client.connected or not self.bodies.exists(body) or self.rows_of_bodies([body])[0] != NO_ROW:
            return ""
        return "the floor" if body == self.client.floor_id else "a body of your own, which stands for no entity"

    def rows_of_bodies(self, bodies: object) -> Rows:
        """Return the rows of PyBullet `bodies`, -1 for bodies without an entity (the floor)."""
        return self.bodies.rows_of_bodies(np.asarray(bodies, np.int64))

    def check_open(self) -> None:
        """Raise StateError where users may not use PyBullet."""
        if self.refused:
            raise StateError(self.refused)

    def hand_out(self) -> int:
        """Return the raw client id, for use with pybullet's own functions.

        Those calls cannot be intercepted, so from now on all bodies exist, each step writes all changed poses in phase
        2, and poses written outside a step are written to PyBullet at once.
        """
        self.check_open()
        self.ensure()
        # Only now: in phase 1 `ensure` still has to write the staged poses, which it skips once the mirror is eager.
        self.handed_out = self.keeps_up = True
        return self.client.id

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step; inside a step it does nothing."""
        if self.world.in_step or self._reading:
            return
        if self.live:
            self._writer.write(rows)
        elif self._any_told:
            self._writer.write(rows[self.bodies.table.told[rows]])

    # ---- what PyBullet is told ---------------------------------------------------------------------------------------

    def write_now(self, row: int) -> None:
        """Bring the body of `row` to the columns, also in phase 1: what PyBullet is told next counts from there."""
        self._writer.write(np.array([row], np.int64))

    def read_now(self, row: int) -> None:
        """Read `row`, which the engine moves and which was written in it, back into the columns."""
        rows = np.array([row], np.int64)
        # What comes from PyBullet is not written back to it.
        self._reading = True
        try:
            self.read_back(rows)
        finally:
            self._reading = False
        if self._in_phase_1:
            self.staged.take_over(row)
        if not self.world.in_step and self.on_read is not None:
            self.on_read(rows)

    # ---- whole world -------------------------------------------------------------------------------------------------

    def adopt(self, row: int, body: int) -> None:
        """Make `body`, created by the user in this client, the body of `row`; its pose is read into the columns."""
        self.check_open()
        self.bodies.adopt(row, body)
        self.world.touch(np.array([row], np.int64))
        self.world.bullet_behind[row] = False

    def reset(self) -> None:
        """Empty PyBullet. Bodies of living rows are created again when needed."""
        self.bodies.forget_all()
        self.client.reset()
        # Everything is behind now, not only what moved: the next query finds an empty engine.
        self.world.bullet_behind[self.world.rows] = True
        self.staged.drop()

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
            self._writer.write(None)

    def close(self) -> None:
        """Unsubscribe from the world and disconnect."""
        # It may be closed twice.
        if self._spawned in self.world.on_spawn:
            self.world.on_spawn.remove(self._spawned)
            self.world.on_remove.remove(self.detached.note)
            self.world.on_remove.remove(self.bodies.remove)
        self.bodies.forget_all()
        self.client.close()

    def _spawned(self, rows: Rows) -> None:
        if self.live:
            self.client.connect()
            self._writer.make_missing(rows)


def _check_policy(policy: str) -> None:
    if policy not in get_args(PoseFlush):
        raise InvalidValueError(f"pose_flush: expected one of {', '.join(get_args(PoseFlush))}, got {policy!r}")
