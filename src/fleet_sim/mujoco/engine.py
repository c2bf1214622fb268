"""MujocoEngine: MuJoCo as the engine of a simulation, see `core.physics_engine`."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.collision_rules import LinkPairs
from fleet_sim.core.contacts import Contact
from fleet_sim.core.drives import DrivenSubsteps
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.mujoco.bodies import MujocoBodies
from fleet_sim.mujoco.bound import Bound
from fleet_sim.mujoco.broken import mend_broken
from fleet_sim.mujoco.contacts import NO_PAIRS, contacts_of, pairs_in_contact
from fleet_sim.mujoco.forces import MujocoForces
from fleet_sim.mujoco.motors import MujocoMotors
from fleet_sim.mujoco.movers import Movers
from fleet_sim.mujoco.reactions import MujocoReactions
from fleet_sim.mujoco.resting import RestingContacts
from fleet_sim.mujoco.saved import MujocoCheckpoints
from fleet_sim.mujoco.spec import SpecOptions
from fleet_sim.mujoco.state import let_sleep
from fleet_sim.mujoco.substeps import Substeps

NOTHING = (0.0, 0.0, 0.0)
NOBODY: Ints = np.empty(0, np.int64)


class MujocoEngine:
    """Steps the dynamic rows of a world with MuJoCo, which is loaded at the first step that has any.

    A body has the number of its entity, which it keeps: MuJoCo's own numbers change with every spawn.
    """

    name = "mujoco"
    mends_itself = True

    def __init__(
        self, world: World, options: SpecOptions, exempt_links: LinkPairs, *, substep: float, contact_erp: float
    ) -> None:
        """`exempt_links` returns the pairs of links of a row that do not push each other."""
        self._world = world
        self._substep = substep
        self._bodies = MujocoBodies(world, options, exempt_links)
        self._movers = Movers(world, self._bodies)
        self._forces = MujocoForces(world)
        self._resting = RestingContacts()
        self._substeps = Substeps(self._bodies, self._movers, self._forces, self._resting, contact_erp)
        self._motors: MujocoMotors | None = None
        self._dozing = NOBODY
        """Object ids of what is to fall asleep in the next step."""
        self.reactions = MujocoReactions(world)
        self.checkpoints = MujocoCheckpoints(world, self._bodies, self._movers, self._forces, self._resting)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def begin_step(self) -> None:
        """Begin a step of the simulation: what is kinematic sweeps from where it is now to where it is in `step`."""
        if np.count_nonzero(self._world.dynamic):
            self._movers.begin_step()

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds, in substeps, and read them back; return how many."""
        if not np.count_nonzero(self._world.dynamic):
            self._forces.clear(self._bodies.bound)
            return 0
        self._movers.find_driven()
        before = self._bodies.bound
        bound = self._bodies.refresh()
        changed = self._bodies.write_changed()
        if bound is not before:
            self._resting.forget()
        if self._motors is None or not self._motors.fits(bound):
            self._motors = MujocoMotors(self._world, bound)
        changed |= self._movers.start(bound, dt)
        # The tolerance keeps rounding from adding a substep where dt is a multiple of it.
        count = max(1, math.ceil(dt / self._substep - 1e-9))
        driven = DrivenSubsteps(self._world.drives, self._world.alive, count, dt / count)
        if not (changed or self._forces.pushes or len(driven.rows) or self._substeps.awake(bound)):
            return len(bound.dynamic)
        if len(driven.rows):
            bound.wake(self._trees(bound, driven.rows))
        bound, self._motors = self._substeps.run(bound, self._motors, driven, count, dt / count)
        mend_broken(self._world, self._bodies)
        self._movers.stop(bound)
        self.reactions.measure(bound)
        if len(self._dozing):
            # By itself MuJoCo would wait until they do not even tremble; what carries them would wake them up.
            trees = self._trees(bound, bound.rows[np.isin(bound.ids, self._dozing)])
            let_sleep(bound, trees, self._movers.standing(bound))
            self._resting.update(bound)
            self._dozing = NOBODY
        self._forces.clear(bound)
        efforts = self._motors.efforts
        # A sum of squares tells it in a third of the time; where it overflows, nothing is changed.
        if not float(efforts.dot(efforts)) < math.inf:
            efforts = np.nan_to_num(efforts, posinf=0.0, neginf=0.0)
        return self._bodies.read_back(efforts)

    # ---- contacts ----------------------------------------------------------------------------------------------------

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step, at most `limit` m apart: sorted, each once."""
        bound = self._bodies.bound
        return NO_PAIRS if bound is None else pairs_in_contact(self._world, bound, self._resting.table, limit)

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step, in the engine's order."""
        bound = self._bodies.bound
        return [] if bound is None else contacts_of(self._world, bound, self._resting.table, row)

    # ---- what pushes, and what sleeps --------------------------------------------------------------------------------

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""
        self._forces.add(row, tuple(force.tolist()), NOTHING, None if position is None else tuple(position.tolist()))
        self.wake_up(np.array([row]))

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""
        self._forces.add(row, NOTHING, tuple(torque.tolist()), None)
        self.wake_up(np.array([row]))

    def put_to_sleep(self, rows: Rows) -> None:
        """Stop `rows`, which rest on each other; they sleep from the end of the next step on."""
        world = self._world
        world.velocity[rows] = world.angular_velocity[rows] = 0.0
        self._dozing = world.object_id[rows]

    def wake_up(self, rows: Rows) -> None:
        """Let sleeping `rows` move again."""
        bound = self._bodies.bound
        if bound is not None:
            bound.wake(self._trees(bound, rows))

    def _trees(self, bound: Bound, rows: Rows) -> Rows:
        bodies = bound.compiled.base[np.flatnonzero(np.isin(bound.rows, rows))]
        trees = bound.model.body_treeid[bodies[bodies >= 0]]
        return np.asarray(trees[trees >= 0], np.int64)

    # ---- numbers of bodies -------------------------------------------------------------------------------------------

    def body_id(self, row: int) -> int:
        """Return the number that users know the body of the entity by: its object id."""
        return int(self._world.object_id[row])

    def tell_body(self, row: int) -> int:
        """As `body_id`."""
        return self.body_id(row)

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity with a number of `body_id`, NO_ROW for none."""
        found = np.flatnonzero((self._world.object_id == body) & self._world.alive)
        return int(found[0]) if len(found) else NO_ROW

    def other_body(self, body: int) -> str:
        """Return "": only entities have numbers."""
        return ""

    def floor_id(self) -> int:
        """Return -1: the floor is not an entity, and has no number."""
        return -1

    def pose_written(self, rows: Rows) -> None:
        """Do nothing: the next step compares the columns with what it has."""

    def reset(self) -> None:
        """Forget all bodies and contacts; what the columns hold is made again when it is needed."""
        self._bodies.forget()
        self._movers.forget()
        self._forces.clear(None)
        self._resting.forget()
        self._motors = None
        self._dozing = NOBODY
