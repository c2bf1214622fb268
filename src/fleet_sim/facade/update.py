"""The systems of phase 1 that involve several parts, the guard against broken poses; engine and settings of a run."""

from __future__ import annotations

import logging
import math
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Floats, Rows
from fleet_sim.base.errors import InvalidValueError, MissingDependencyError
from fleet_sim.base.kernels import check_installed, compile_at_first_call, is_installed, load_soon, must_be_usable
from fleet_sim.base.limits import inside_mask
from fleet_sim.base.params import ActionCause, CompiledCodeUse, SimulationParams
from fleet_sim.engines.bullet.engine import BulletEngine
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.mujoco.engine import MujocoEngine
from fleet_sim.engines.mujoco.spec import SpecOptions
from fleet_sim.facade.run_control import SimulationParts
from fleet_sim.facade.view import View
from fleet_sim.robots import attachments, drive
from fleet_sim.robots.motion.system import advance_joints
from fleet_sim.sensing.collision.blocking_system import Blocked
from fleet_sim.sensing.collision.system import CollisionSystem
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.columns import Scalars
from fleet_sim.world.pipeline import ANY
from fleet_sim.world.ports import PhysicsEngine
from fleet_sim.world.schema import KIND_AGENT, LogLevelManager
from fleet_sim.world.steering import IDLE, POSE
from fleet_sim.world.world import MANY_RAYS, World

# The events of a step, and the hooks of single entities between them.


class StepEvents:
    """Emits the events of a step to handlers of the simulation and of single entities.

    Python code runs only for events with handlers: without handlers a step costs nothing, for any number of robots.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._handled = world.events.asking("pre_update", "post_update")
        # One call for all of them: it is asked twice in each step, nearly always in vain.
        self._of_entities = (world.entity_events.buses, *world.hooks.books)

    def pre_step(self, dt: float) -> None:
        """Emit `pre_step`."""
        if self._world.events.has_handlers("pre_step"):
            self._world.events.emit("pre_step", dt=dt, sim_time=self._world.clock.time)

    def wants_update(self) -> bool:
        """Return whether somebody listens to `pre_update` or has code of its own between that and `post_update`."""
        return any(self._of_entities) or bool(self._handled())

    def pre_update(self, dt: float) -> None:
        """Emit `pre_update` of each entity."""
        for row in self._listening("pre_update"):
            self._emit_to(row, "pre_update", dt=dt)

    def run_controllers(self, dt: float) -> None:
        """Run the Python controllers of agents."""
        self._world.hooks.run_controllers(self._world.handles, dt)

    def run_entity_callbacks(self, dt: float) -> None:
        """Run the overridden updates, plugins and callbacks of entities, then emit `post_update` of each."""
        world = self._world
        world.hooks.run_callbacks(world.handles, dt)
        for row in self._listening("post_update"):
            self._emit_to(row, "post_update", dt=dt, moved=bool(world.moved[row]))

    def post_step(self, dt: float) -> None:
        """Emit `post_step`."""
        if self._world.events.has_handlers("post_step"):
            self._world.events.emit("post_step", dt=dt, sim_time=self._world.clock.time)

    def to_agents(self, event: str, rows: Rows) -> None:
        """Emit `event` of the agents in `rows`."""
        world = self._world
        if world.events.has_handlers(event) or len(world.entity_events):
            for row in rows.tolist():
                # An earlier handler may have removed it.
                if world.alive[row]:
                    world.events.emit(event, agent=world.handles[row])
                    world.entity_events.emit(row, event)

    def _listening(self, event: str) -> list[int]:
        """Return the rows with handlers of `event`: all rows for global handlers, else those with their own."""
        world = self._world
        if world.events.has_handlers(event):
            rows: list[int] = world.rows.tolist()
            return rows
        return world.entity_events.listening(event) if len(world.entity_events) else []

    def _emit_to(self, row: int, event: str, **details: Any) -> None:
        """Emit `event` to global handlers and to the entity's own, unless an earlier handler removed the entity."""
        world = self._world
        if world.alive[row]:
            world.events.emit(event, entity=world.handles[row], **details)
            world.entity_events.emit(row, event, **details)


# The choice whether a simulation uses compiled code.


log = logging.getLogger(__name__)

MANY = 100
"""Entities from which on compiled code is used from the first step on."""
LARGE = 1000
"""Entities from which on it is loaded without waiting for what Python takes."""
FEW, WORTH = 20, 50_000
"""Worlds of at least so many entities load it after so many steps of single ones: in Python each takes some 0.01 ms,
and loading as long as all of these. It takes 125 MB, and holds up one step."""


class CompiledCode:
    """Switches a world to compiled code, once, between two steps; results are the same before and after."""

    def __init__(self, world: World, collisions: CollisionSystem, use: CompiledCodeUse) -> None:
        """Raises MissingDependencyError where it is to be used always and numba is not installed."""
        self._world, self._collisions = world, collisions
        self._least = {"auto": MANY, "always": 0, "never": None}[use]
        world.may_compile = use != "never"
        if use == "always":
            check_installed()
            compile_at_first_call()
        elif not is_installed():
            self._least = None
        self._asked = use == "always"
        self._in_python = 0
        """How many steps entities have made in Python."""

    def decide(self) -> None:
        """Switch to compiled code if it is time to; called before each step until then."""
        world = self._world
        if self._least is None:
            return
        count = int(np.count_nonzero(world.alive))
        self._in_python += count
        is_late = count >= FEW and self._in_python >= WORTH
        if count < self._least and not is_late and world.rays_in_python < MANY_RAYS:
            return
        try:
            # Else kernels run in Python at first, and load numba where that pays.
            if must_be_usable():
                check_installed()
        except MissingDependencyError as error:
            if self._asked:
                raise
            # Numba refuses versions of NumPy that it does not know yet. Nobody asked for it.
            log.warning("steps go on without compiled code: %s", error)
            self._least = None
            return
        if is_late or count >= LARGE:
            load_soon()
        world.compiled = True
        self._collisions.use_kernels()


PHASE_1_EVENTS = frozenset(
    ("pre_step", "pre_update", "post_update", "action_started", "action_completed", "arrived", "blocked")
    + (
        "goal_failed",
        "joints_settled",
        "fleet_command",
        "object_spawned",
        "object_removed",
        "agent_spawned",
        "agent_removed",
    )
)
"""Events whose handlers run before the poses are flushed."""


class Update:
    """Systems of phase 1 that coordinate several parts."""

    def __init__(self, sim: SimulationParts, events: StepEvents, compiled_code: CompiledCode) -> None:
        self._sim, self._events, self._compiled_code = sim, events, compiled_code
        self._watched = False
        """Whether user code may look at the world in phase 1 of this step."""
        self._may_block = False
        """Whether some robot may be blocked in this step."""
        self._commands_due = 0
        """How many commands were in the inbox when the step began."""

    def begin(self) -> None:
        """Clear the moved flags of the previous step, and prepare this one."""
        sim, world = self._sim, self._sim.world
        sim.profiler.begin_step()
        if not world.compiled:
            self._compiled_code.decide()
        world.moved.fill(False)
        world.robots.joints_moved.fill(False)
        # Commands added from here on wait for the next step, so that handlers cannot keep a step from ending; and those
        # of other threads since this step was found to be of several ticks.
        self._commands_due = sim.inbox.asking() if sim.pipeline.ticks == 1 else 0
        self._watched = self._has_user_code()
        # The mirror copies poses for queries in phase 1; this is skipped if no code can query.
        # Blocking queries PyBullet too, for pairs without a closed form.
        may_query = self._watched or sim.mirror.client.connected
        sim.mirror.begin_step(stage=may_query or bool(np.count_nonzero(world.block_on_collision)))
        if np.count_nonzero(world.dynamic):
            sim.engine.begin_step()

    def _has_user_code(self) -> bool:
        """Whether user code may read the world, or PyBullet, in phase 1 of this step."""
        sim, world = self._sim, self._sim.world
        return bool(
            sim.extensions
            or world.hooks
            or world.entity_events.buses
            or (self._commands_due and sim.inbox.runs_code(self._commands_due))
            or sim.actions.user_defined
            or (not PHASE_1_EVENTS.isdisjoint(world.events.handled) and world.events.may_act(*PHASE_1_EVENTS))
        )

    def take_commands(self) -> None:
        """Apply the commands that were in the inbox when the step began, up to one that must run between steps."""
        self._sim.inbox.drain(self._sim.dispatcher, self._commands_due, in_step=True)

    def span(self) -> int:
        """Return for how many ticks no robot follows a law of motion: for any, where all stand still or are driven."""
        world = self._sim.world
        moves = world.on_drive or np.count_nonzero(world.motion.control != IDLE)
        return 1 if moves or world.drives.in_use else ANY

    def span_of_joints(self) -> int:
        """Return for how many ticks no joint moves but by motors."""
        joints = self._sim.world.joints
        return 1 if np.count_nonzero(joints.moving[: joints.used]) else ANY

    def move(self, dt: float) -> None:
        """Move the robots' bases with avoidance and blocking; wake the actions of robots that arrived."""
        sim, world = self._sim, self._sim.world
        for rule in world.speed_rules:
            rule.lower()
        try:
            ended = self._advance(dt)
        finally:
            # In reverse: a rule found what those before it had lowered.
            for rule in reversed(world.speed_rules):
                rule.restore()
        # Before arrival is decided: who was held back has not arrived.
        blocked = sim.blocking.after(ended) if self._may_block else Blocked(ended, NO_ROWS, NO_ROWS)
        done = sim.driven.end(blocked.arrived, dt)
        arrived = sim.motion.settle(world, done) if len(done) else done
        for listener in world.on_drive:
            listener(dt)
        if self._watched:
            # From here on, user code must see carried objects at their carriers.
            attachments.follow(world)
        if len(arrived):
            sim.actions.arrived(arrived)
            self._events.to_agents("arrived", arrived)
        if len(blocked.newly):
            sim.actions.blocked(blocked.newly)
            self._events.to_agents("blocked", blocked.newly)
        if len(blocked.overdue):
            self._give_up(blocked.overdue)

    def _give_up(self, rows: Rows) -> None:
        """Wake the actions of robots that have stood before static bodies for too long; end goals without an action."""
        world = self._sim.world
        self._sim.actions.blocked_too_long(rows)
        idle = rows[world.motion.control[rows] == POSE]
        for row in np.setdiff1d(idle, world.actions.busy(idle), assume_unique=True).tolist():
            message = drive.blocked_text(world, row)
            log.warning("%r gives up its goal: %s", world.label(row), message)
            details = {"cause": ActionCause.BLOCKED, "message": message}
            # Before it stops: handlers still see what it stands before, and its goal.
            world.events.emit("goal_failed", agent=world.handles[row], **details)
            world.entity_events.emit(row, "goal_failed", **details)
            # A handler may have removed it, or sent it on.
            if world.alive[row] and drive.is_blocked_too_long(world, row):
                drive.stop(world, np.array([row]))

    def _advance(self, dt: float) -> Rows:
        sim = self._sim
        sim.avoidance.before(dt)
        sim.driven.begin()
        self._may_block = bool(np.count_nonzero(sim.world.block_on_collision))
        held = self._may_block and sim.blocking.before(dt)
        ended = NO_ROWS if held else sim.motion.advance(sim.world, dt)
        sim.avoidance.after()
        return ended

    def move_joints(self, dt: float) -> None:
        """Move the robots' joints; wake actions whose joints arrived."""
        world = self._sim.world
        settled = advance_joints(world, dt)
        if self._watched and world.robots.joints_moved.any():
            attachments.follow(world)
        if len(settled):
            self._sim.actions.joints_settled(settled)
            self._events.to_agents("joints_settled", settled)


# The guard against poses that are not finite at the end of a step.


LARGEST = 1e12
"""Coordinates beyond this, in m, count as broken: not even commands may ask for them."""

PERIOD = 8
"""Steps between two times at which good poses are written down: copying them costs as much as looking at them."""


FEW = 48
"""Number of coordinates up to which a list tells whether they are good in half of the time."""


class FiniteGuard:
    """Puts entities whose pose became broken back to a good one, at rest, and counts them as a fault.

    That pose is one that the entity had at most PERIOD steps before.

    Commands and settings are bounded where they come in; what user code, a motion law or the engine makes of them is
    seen here, before anything is told of it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._position: Floats = np.empty((0, 3))
        self._orientation: Floats = np.empty((0, 4))
        self._version, self._top = -1, 0
        self._scalars: Scalars | None = None
        # The coordinates of all who live, as one array each: slices of the columns.
        self._flat_positions, self._flat_orientations = np.empty(0), np.empty(0)
        world.on_spawn.append(self._spawned)

    def run(self, dt: float) -> None:
        """Look at all poses, and write the good ones down now and then; the time step has no influence.

        A sum and a largest number are spoilt by a single broken one, and take a hundredth of a step.
        """
        world = self._world
        if world.version != self._version or world.scalars is not self._scalars:
            self._look_at(world)
        # Velocities, which poses come from, are not looked at: a broken one breaks the pose in the same step.
        if not self._are_good(self._flat_positions, self._flat_orientations):
            self._mend()
        if world.clock.tick % PERIOD == 0:
            top = self._top
            self._position[:top] = world.position[:top]
            self._orientation[:top] = world.orientation[:top]

    def _are_good(self, positions: Floats, orientations: Floats) -> bool:
        # Written this way round because NaN is neither above nor below anything.
        if len(positions) <= FEW:
            turns = orientations.tolist()
            whole = sum(turns)
            return abs(sum(positions.tolist())) <= LARGEST and whole == whole and max(turns, default=0.0) <= 2.0
        largest = np.maximum.reduce(orientations, initial=0.0)
        return bool(abs(np.add.reduce(positions)) <= LARGEST and largest <= 2.0)

    def _look_at(self, world: World) -> None:
        """Follow the world: who lives in it, and where its arrays are."""
        self._version, self._scalars = world.version, world.scalars
        self._top = int(world.rows.max(initial=-1)) + 1
        self._flat_positions = world.position[: self._top].reshape(-1)
        self._flat_orientations = world.orientation[: self._top].reshape(-1)
        self._make_room()

    def _mend(self) -> None:
        """Put rows with broken numbers back to where they were, stop them, and tell of it once per entity."""
        world = self._world
        good_mask = inside_mask(world.position, LARGEST) & inside_mask(world.orientation, 2.0)
        self._make_room()
        # Free rows as well: a broken number left in one would spoil the sum in every later step.
        bad = np.flatnonzero(~good_mask)
        world.position[bad] = self._position[bad]
        world.orientation[bad] = self._orientation[bad]
        rows = bad[world.alive[bad]]
        if not len(rows):
            return
        self._stop(rows)
        for row in rows.tolist():
            where = [round(number, 3) for number in world.position[row].tolist()]
            world.guard.note(
                f"pose of {world.label(row)}", f"was not a number any more; it was stopped and put back to {where}"
            )

    def _stop(self, rows: Rows) -> None:
        """Cancel the actions of `rows`, stop them, and mark them as moved."""
        world = self._world
        robots = rows[world.kind[rows] == KIND_AGENT]
        for row in world.actions.busy(robots).tolist():
            world.actions.cancel(row, "its pose was not a number any more", ActionCause.CANCELLED)
        if len(robots):
            drive.stop(world, robots)
        world.rest(rows)
        world.touch(rows)

    def _make_room(self) -> None:
        """Follow the world as it grows; new rows are written down when something is spawned in them."""
        known, capacity = len(self._position), self._world.capacity
        if known != capacity:
            position, orientation = self._position, self._orientation
            self._position, self._orientation = np.zeros((capacity, 3)), np.tile((0.0, 0.0, 0.0, 1.0), (capacity, 1))
            self._position[:known], self._orientation[:known] = position[:capacity], orientation[:capacity]

    def _spawned(self, rows: Rows) -> None:
        self._make_room()
        self._position[rows] = self._world.position[rows]
        self._orientation[rows] = self._world.orientation[rows]


REFUSED = (
    "this simulation runs on MuJoCo, and PyBullet's own functions and bodies act on PyBullet only; set engine: bullet"
)
"""Why users of a simulation on MuJoCo get no PyBullet."""


def engine_name(params: SimulationParams) -> str:
    """Return the name of the engine that `params` choose: `auto` is PyBullet if it is installed, otherwise MuJoCo."""
    if params.engine != "auto":
        return params.engine
    # Without physics, and with a window, there is nothing that MuJoCo could do.
    if not params.physics or params.gui or find_spec("pybullet") is not None:
        return "bullet"
    if find_spec("mujoco") is None:
        # Named in the error of its first use, as the engine that is asked for where none is there.
        return "bullet"
    log.info("engine: mujoco, as PyBullet is not installed")
    return "mujoco"


def make_engine(params: SimulationParams, world: World, mirror: BulletMirror, exempt_links: LinkPairs) -> PhysicsEngine:
    """Return the engine that `params` choose for a world; `mirror` is PyBullet's view of it.

    `exempt_links` returns the pairs of links of a row that do not push each other.
    """
    if engine_name(params) == "bullet":
        engine = BulletEngine(mirror, substep=params.physics_substep)
        mirror.keeps_previous = mirror.forces.enabled = params.physics
        if params.physics:
            # What a motor of the user's own can do follows from the step that the engine has when it is commanded.
            count = max(1, math.ceil(params.timestep / params.physics_substep - 1e-9))
            mirror.client.timestep = params.timestep / count
        return engine
    mirror.refused = REFUSED
    options = SpecOptions(params.enable_floor, params.inertia_from_file, params.solver_iterations)
    return MujocoEngine(world, options, exempt_links, substep=params.physics_substep, contact_erp=params.contact_erp)


# The settings that a simulation runs with: what happens when they are changed, and what to do where they cannot be.


_INSTEAD = {
    "block_on_collision": "set `block_on_collision` of what you spawn",
    "spatial_hash_cell_size_mode": "call sim.set_collision_spatial_hash_cell_size_mode(mode, cell_size)",
    "spatial_hash_cell_size": "call sim.set_collision_spatial_hash_cell_size_mode('constant', cell_size)",
    "monitor": "call sim.setup_monitor(output) or sim.close_monitor()",
    "enable_monitor_gui": "call sim.setup_monitor(output) or sim.close_monitor()",
}
"""What to do instead of setting these."""


def used(params: SimulationParams | None) -> SimulationParams:
    """Return a copy of `params` (None: the defaults, no window) that belongs to one simulation, and log at its level.

    Raises InvalidValueError for anything else, and ConfigError where settings contradict each other.
    """
    if params is not None and not isinstance(params, SimulationParams):
        raise InvalidValueError(f"expected SimulationParams, got {params!r}; see from_dict() and from_yaml()")
    own = (params or SimulationParams(gui=False)).in_use("a simulation", _INSTEAD)
    LogLevelManager.set_log_level(own.log_level)
    return own


def follow_changes(sim: SimulationParts, view: View) -> None:
    """Pass changes of settings on to the parts that keep a value of their own; others read it when they need it."""
    params, guard, collisions, mirror = sim.params, sim.guard, sim.collisions, sim.mirror
    params.when_changed("gravity", mirror.set_gravity)
    mirror.on_gravity = partial(setattr, params, "gravity")
    params.when_changed("blocked_timeout", partial(setattr, mirror.world, "blocked_timeout"))
    params.when_changed("log_level", LogLevelManager.set_log_level)
    params.when_changed("raise_on_fault", partial(setattr, guard, "raise_on_fault"))
    params.when_changed("max_failures", partial(setattr, guard, "max_failures"))
    params.when_changed("collision_check_frequency", collisions.set_frequency)
    for name in ("enable_collision_shapes", "enable_structure_transparency", "enable_shadows", "enable_gui_panel"):
        params.when_changed(name, lambda shown: view.configure())
    params.when_changed("enable_collision_color_change", lambda shown: view.show_collisions())
