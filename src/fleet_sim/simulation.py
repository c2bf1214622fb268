"""MultiRobotSimulationCore: builds a world and its PyBullet view, and lists the systems in the order of a step.

Read this file first. What a step does is the list in `_build_pipeline`; what users call beyond it is in `facade/`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.actions.scheduler import ActionScheduler
from fleet_sim.arrays import Rows
from fleet_sim.bullet.book import BulletBook
from fleet_sim.bullet.client import BulletClient
from fleet_sim.bullet.gui import Gui
from fleet_sim.bullet.highlight import Highlight
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.physics import BulletPhysics
from fleet_sim.bullet.posed import PosedQueries
from fleet_sim.bullet.query import BulletHandle, BulletQueries
from fleet_sim.bullet.saved import BulletCheckpoints
from fleet_sim.bullet.visualizer import Visualizer
from fleet_sim.collision.blocking_system import BlockingSystem
from fleet_sim.collision.broad import BroadPhase, candidate_pairs
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.modes import CollisionDetectionMethod
from fleet_sim.config.params import SimulationParams
from fleet_sim.config.scenario import as_scenario, open_sections
from fleet_sim.core.callbacks import CallbackList
from fleet_sim.core.checkpoint import Checkpoint, Checkpoints
from fleet_sim.core.clock import Clock
from fleet_sim.core.faults import FaultGuard
from fleet_sim.core.inbox import Inbox
from fleet_sim.core.log_level import LogLevelManager
from fleet_sim.core.pipeline import Phase, Pipeline, System
from fleet_sim.core.plugins import PluginRunner
from fleet_sim.core.ports import Parts
from fleet_sim.core.profiler import Profiler
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.snapshot import SnapshotBoard
from fleet_sim.core.world import World
from fleet_sim.entities import attachments
from fleet_sim.entities.dispatch import FleetCommandDispatcher
from fleet_sim.entities.entries import spawn_scenario
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.facade.collisions import CollisionFacade
from fleet_sim.facade.population import PopulationFacade
from fleet_sim.facade.sensors import SensorFacade
from fleet_sim.facade.state import StateFacade
from fleet_sim.facade.view import ViewFacade
from fleet_sim.kinematics.links import WorldLinks
from fleet_sim.models.search_paths import checked_folder
from fleet_sim.motion.avoidance_system import AvoidanceSystem
from fleet_sim.motion.books import Controllers, Laws
from fleet_sim.motion.joints import advance_joints
from fleet_sim.motion.system import MotionSystem
from fleet_sim.runner import Runner
from fleet_sim.sensors.base import SensorContext
from fleet_sim.sensors.system import SensorSystem
from fleet_sim.settings import load_mapping

# A logger of its own: these lines are asked for by a setting, whatever the level of the others.
profile_log = logging.getLogger("fleet_sim.profile")
profile_log.setLevel(logging.INFO)

PHASE_1_EVENTS = (
    *("pre_step", "pre_update", "post_update", "action_started", "action_completed", "arrived", "blocked"),
    "joints_settled",
    *("fleet_command", "object_spawned", "object_removed", "agent_spawned", "agent_removed"),
)
"""Events whose handlers run before the poses are flushed."""


class MultiRobotSimulationCore(PopulationFacade, SensorFacade, CollisionFacade, StateFacade, ViewFacade, Runner):
    """A simulation of a fleet.

    `world` holds all state; `pipeline` runs a step. Entities are spawned with `spawn`, managers or a scenario file, and
    driven through their handles, or through commands put in the `inbox` from any thread.
    """

    def __init__(self, params: SimulationParams | None = None, collision_color: Any = None) -> None:
        """Build an empty simulation. PyBullet is loaded when first needed: at once with `gui`, else on demand."""
        if params is not None and not isinstance(params, SimulationParams):
            raise InvalidValueError(f"expected SimulationParams, got {params!r}; see from_dict() and from_yaml()")
        self.params = params or SimulationParams(gui=False)
        self._collision_colour = collision_color
        LogLevelManager.set_log_level(self.params.log_level)
        self._build_world()
        self._build_view()
        self._build_features()
        self.pipeline = Pipeline(self.world)
        self._build_pipeline()
        self.profiler = Profiler(self.pipeline)
        self._initial: Checkpoint | None = None
        self._watched = False
        self._commands_due = 0
        self._closed = False
        Runner.__init__(self)
        if self.params.gui:
            self.setup_pybullet()
            self.configure_visualizer()

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], *, source: str = "") -> MultiRobotSimulationCore:
        """Build a simulation from settings, or from a scenario with its robots and objects; raises ConfigError."""
        config = as_scenario(config)
        sim = cls(SimulationParams.from_dict(config, source=source))
        try:
            spawn_scenario(sim.world, config, source=source)
            open_sections(sim, config, source=source)
        except BaseException:
            sim.close()
            raise
        return sim

    @classmethod
    def from_yaml(cls, path: str | Path) -> MultiRobotSimulationCore:
        """Build a simulation from a YAML file; raises ConfigError naming file, key and what is allowed."""
        return cls.from_dict(load_mapping(path), source=str(path))

    # ---- building ----------------------------------------------------------------------------------------------------

    def _build_world(self) -> None:
        params = self.params
        self.clock = Clock(params.timestep)
        self.guard = FaultGuard(raise_on_fault=params.raise_on_fault)
        self.world = World(self.clock, seed=params.seed, guard=self.guard)
        self.world.physics = params.physics
        self.world.block_on_collision_default = params.block_on_collision
        self.world.model_paths = tuple(str(checked_folder(folder, "model_paths")) for folder in params.model_paths)
        self.world.on_remove.append(self._release_carried)

    def _build_view(self) -> None:
        params = self.params
        self._client = BulletClient(
            gui=params.gui,
            gravity=params.gravity,
            floor=params.enable_floor,
            window=(params.window_width, params.window_height),
            solver_iterations=params.solver_iterations,
            contact_erp=params.contact_erp,
        )
        visuals = params.engine_visuals or params.gui
        self._mirror = BulletMirror(self.world, self._client, params.pose_flush, visuals=visuals)
        self._queries = BulletQueries(self._mirror)
        self.bullet = BulletHandle(self._mirror)
        self._physics = BulletPhysics(self._mirror, substep=params.physics_substep)
        self._highlight = Highlight(self._mirror, self._collision_colour)
        self._mirror.keeps_previous = params.physics
        self._visualizer = Visualizer(self._mirror)
        self._gui = Gui(self._mirror, self._visualizer)

    def _build_features(self) -> None:
        params, world = self.params, self.world
        self.inbox = Inbox()
        self.dispatcher = FleetCommandDispatcher(self)
        self.actions = ActionScheduler(world)
        self.motion = MotionSystem()
        broad = BroadPhase(
            mode=params.spatial_hash_cell_size_mode,
            cell_size=params.spatial_hash_cell_size,
            multi_cell_threshold=params.multi_cell_threshold,
        )
        self.collisions = CollisionSystem(
            world,
            method=CollisionDetectionMethod.parse(params.collision_detection_method),
            margin=params.collision_margin,
            ignore_static=params.ignore_static_collision,
            broad=broad,
            solve=self._queries.closest_distances,
            contacts=self._physics.contact_pairs,
        )
        self.collisions.set_frequency(params.collision_check_frequency)
        self.blocking = BlockingSystem(world, PosedQueries(self._mirror).distances)
        self.avoidance = AvoidanceSystem(world, candidate_pairs)
        context = SensorContext(
            world, self._mirror, lambda: self.collisions.pairs, params.gravity, params.camera_budget
        )
        self.sensors = SensorSystem(context)
        world.connect(
            Parts(
                actions=self.actions,
                bodies=BulletBook(self._mirror, self._queries),
                links=WorldLinks(world),
                sensors=self.sensors,
                laws=Laws(),
                controllers=Controllers(),
            )
        )
        self.snapshots = SnapshotBoard(world)
        self._callbacks = CallbackList(self.clock, self.guard)
        self._plugins = PluginRunner(self.clock, self.guard)
        self._managers: dict[str, Any] = {}
        self.checkpoints = Checkpoints(world)
        self.checkpoints.register("actions", self.actions)
        self.checkpoints.register("collisions", self.collisions)
        self.checkpoints.register("sensors", self.sensors)
        self.checkpoints.register("engine", BulletCheckpoints(self._mirror))

    def _build_pipeline(self) -> None:
        """The step, in order."""
        for system in (
            System("begin_step", Phase.UPDATE, self._begin_step),
            System("inbox", Phase.UPDATE, self._drain_inbox),
            System("pre_step", Phase.UPDATE, self._emit_pre_step),
            System("pre_update", Phase.UPDATE, self._emit_pre_update),
            System("actions", Phase.UPDATE, self.actions.run),
            System("controllers", Phase.UPDATE, self._run_controllers),
            System("motion", Phase.UPDATE, self._move),
            System("joints", Phase.UPDATE, self._move_joints),
            System("entity_callbacks", Phase.UPDATE, self._run_entity_callbacks),
            System("callbacks", Phase.UPDATE, self._run_callbacks),
            System("plugins", Phase.UPDATE, self._run_plugins),
            System("attachments", Phase.UPDATE, self._follow),
            System("pose_flush", Phase.FLUSH, self._flush),
            System("physics", Phase.PHYSICS, self._step_physics),
            System("bounds", Phase.BOUNDS, self.collisions.bounds),
            System("collisions", Phase.COLLIDE, self.collisions.run),
            System("collision_events", Phase.COLLIDE, self.collisions.emit),
            System("highlight", Phase.OBSERVE, self._colour_collisions),
            System("sensors", Phase.OBSERVE, self.sensors.run),
            System("snapshot", Phase.OBSERVE, self.snapshots.end_step),
            System("monitor", Phase.OBSERVE, self._monitor),
            System("post_step", Phase.OBSERVE, self._emit_post_step),
        ):
            self.pipeline.add(system)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step_once(self, return_profiling: bool = False) -> dict[str, Any] | None:
        """Advance by one time step, unless paused; returns the profile if asked for.

        Raises StateError from inside a step, and while another thread runs the simulation. What user code raises is
        isolated (see `params.raise_on_fault`).
        """
        if self._runs_elsewhere():
            raise StateError("step_once() was called while run_simulation() runs in another thread; see single_step()")
        if self.is_paused:
            return {} if return_profiling else None
        self._advance()
        return self.get_profiling_stats() if return_profiling else None

    def _advance(self) -> None:
        if self._closed:
            raise StateError("this simulation was closed; build a new one to go on")
        if self.params.gui and not self._window_prepared:
            self._prepare_window()
        if self._initial is None and self.params.keep_initial_state:
            self.initialize_simulation()
        try:
            self.pipeline.step(self.clock.dt)
        finally:
            self._mirror.end_step()
        self.profiler.end_step()
        self._run_tasks()

    def _begin_step(self, dt: float) -> None:
        self.profiler.begin_step()
        self.world.moved[:] = False
        self.world.robots.joints_moved[:] = False
        self._commands_due = len(self.inbox)
        self._watched = self._has_user_code()
        blocking = self._watched or bool(self.world.block_on_collision.any())
        self._mirror.begin_step(stage=blocking or self._client.connected)

    def _has_user_code(self) -> bool:
        """Whether code that is not ours may look at the world, or at PyBullet, in phase 1 of this step."""
        world = self.world
        registered = self._callbacks or self._plugins or world.hooks or len(world.entity_events)
        return bool(
            registered
            or any(has_callbacks(manager) for manager in self._managers.values())
            or self._commands_due
            or self.actions.user_defined
            or any(map(world.events.has_handlers, PHASE_1_EVENTS))
        )

    def _drain_inbox(self, dt: float) -> None:
        self.inbox.drain(self.dispatcher, self._commands_due)

    def _emit_pre_step(self, dt: float) -> None:
        self.world.events.emit("pre_step", dt=dt, sim_time=self.clock.time)

    def _emit_pre_update(self, dt: float) -> None:
        for row in self._listening("pre_update"):
            self._emit_to(row, "pre_update", dt=dt)

    def _run_controllers(self, dt: float) -> None:
        self.world.hooks.run_controllers(self.world.handles, dt)

    def _move(self, dt: float) -> None:
        self.avoidance.before(dt)
        self.blocking.before()
        ended = self.motion.advance(self.world, dt)
        self.avoidance.after()
        done, blocked = self.blocking.after(ended)
        arrived = self.motion.settle(self.world, done)
        if self._watched:
            # Whoever looks from here on sees what is carried where its carrier is.
            attachments.follow(self.world)
        self.actions.arrived(arrived)
        self._emit_to_agents("arrived", arrived)
        self._emit_to_agents("blocked", blocked)

    def _move_joints(self, dt: float) -> None:
        settled = advance_joints(self.world, dt)
        if self._watched and self.world.robots.joints_moved.any():
            attachments.follow(self.world)
        if len(settled):
            self.actions.joints_settled(settled)
            self._emit_to_agents("joints_settled", settled)

    def _emit_to_agents(self, event: str, rows: Rows) -> None:
        world = self.world
        if len(rows) and (world.events.has_handlers(event) or len(world.entity_events)):
            for row in rows.tolist():
                if world.alive[row]:
                    world.events.emit(event, agent=world.handles[row])
                    world.entity_events.emit(row, event)

    def _run_entity_callbacks(self, dt: float) -> None:
        self.world.hooks.run_callbacks(self.world.handles, dt)
        for row in self._listening("post_update"):
            self._emit_to(row, "post_update", dt=dt, moved=bool(self.world.moved[row]))

    def _listening(self, event: str) -> list[int]:
        """Return the rows whose `event` somebody listens to: all of them, or those with handlers of their own."""
        world = self.world
        if world.events.has_handlers(event):
            rows: list[int] = world.rows.tolist()
            return rows
        return world.entity_events.listening(event) if len(world.entity_events) else []

    def _emit_to(self, row: int, event: str, **details: Any) -> None:
        """Emit `event` to global handlers and to the entity's own, unless a handler before removed it."""
        world = self.world
        if world.alive[row]:
            world.events.emit(event, entity=world.handles[row], **details)
            world.entity_events.emit(row, event, **details)

    def _run_callbacks(self, dt: float) -> None:
        for manager in list(self._managers.values()):
            if has_callbacks(manager):
                manager.run_callbacks()
        self._callbacks.run(self)

    def _run_plugins(self, dt: float) -> None:
        self._plugins.step()

    def _follow(self, dt: float) -> None:
        attachments.follow(self.world)

    def _flush(self, dt: float) -> None:
        self._mirror.flush()

    def _step_physics(self, dt: float) -> None:
        if self.params.physics and self._physics.step(dt):
            attachments.follow(self.world)

    def _colour_collisions(self, dt: float) -> None:
        if self.params.enable_collision_color_change:
            self._highlight.show(np.unique(self.collisions.pairs).tolist())

    def _monitor(self, dt: float) -> None:
        params = self.params
        if not (params.enable_time_profiling or params.enable_memory_profiling):
            return
        step = self.clock.tick + 1
        if step % params.profiling_interval == 0:
            if params.enable_time_profiling:
                profile_log.info("step %d: %s", step, self.profiler.summary())
            if params.enable_memory_profiling:
                usage = ", ".join(f"{name} {value:.1f}" for name, value in self.get_memory_usage().items())
                profile_log.info("step %d: %s", step, usage)

    def _emit_post_step(self, dt: float) -> None:
        self.world.events.emit("post_step", dt=dt, sim_time=self.clock.time)

    def _release_carried(self, rows: Rows) -> None:
        """Let go of what entities about to be removed carry, and of what carries them."""
        world = self.world
        for child in attachments.children_of(world, rows).tolist():
            attachments.detach(world, child, dynamic=world.physics and bool(world.mass[child] > 0.0))
        world.parent[rows] = NO_ROW

    # ---- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End `run_simulation` if it runs, shut plugins down and leave PyBullet; may be called again.

        Raises StateError inside a step; call `stop` there. A closed simulation can be read, but no longer stepped.
        """
        if self.world.in_step and not self._runs_elsewhere():
            raise StateError("close() was called from inside a step; call stop() there, and close() after the run")
        self.stop()
        with self._wake:
            self._wake.wait_for(lambda: not self._runs_elsewhere())
        if not self._closed:
            self.world.events.emit("closed")
        self._closed = True
        self.close_monitor()
        self._plugins.shutdown()
        self._mirror.close()

    def __enter__(self) -> MultiRobotSimulationCore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def has_callbacks(manager: Any) -> bool:
    """Return whether a manager has something to run in each step."""
    return hasattr(manager, "run_callbacks") and bool(getattr(manager, "has_callbacks", True))
