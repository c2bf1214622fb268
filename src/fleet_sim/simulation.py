"""MultiRobotSimulationCore: builds a world and its PyBullet view, and lists the systems in the order of a step.

Read this file first. The list in `_list_systems` is what a step does. The rest of the public interface is in `facade/`:
an object for each subject, and their documented methods in `facade/documented.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fleet_sim.base.errors import StateError
from fleet_sim.base.params import CollisionDetectionMethod, SimulationParams
from fleet_sim.base.scenario import as_scenario, with_implied_settings, without_needless_window
from fleet_sim.base.settings import load_mapping
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.handle import BulletHandle
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.facade.documented import DocumentedNames
from fleet_sim.facade.population import Population
from fleet_sim.facade.run_control import Extensions, RunControl
from fleet_sim.facade.runner import Runner
from fleet_sim.facade.state import Origin, State, scenario_of, with_settings
from fleet_sim.facade.update import CompiledCode, FiniteGuard, StepEvents, Update, follow_changes, make_engine, used
from fleet_sim.facade.view import CollisionQueries, Monitor, View
from fleet_sim.models.catalog import checked_folder
from fleet_sim.models.kinematics.links import WorldLinks
from fleet_sim.robots import attachments
from fleet_sim.robots.actions.scheduler import ActionScheduler
from fleet_sim.robots.dispatch import FleetCommandDispatcher
from fleet_sim.robots.motion import goal_controllers, laws
from fleet_sim.robots.motion.driving import DIFFERENTIAL, OMNI
from fleet_sim.robots.motion.system import AvoidanceSystem, EngineDriven, MotionSystem
from fleet_sim.robots.spawning import fill_scenario
from fleet_sim.sensing.collision.blocking_system import BlockingSystem
from fleet_sim.sensing.collision.broad import BroadPhase, candidate_pairs
from fleet_sim.sensing.collision.contacts import ExactDistances
from fleet_sim.sensing.collision.system import CollisionSystem, LinkContacts, SelfCollisions
from fleet_sim.sensing.queries import SpatialQueries
from fleet_sim.sensing.sensors.sensor import SensorContext
from fleet_sim.sensing.sensors.system import SensorSystem
from fleet_sim.world.checkpoint import Checkpoints
from fleet_sim.world.clock import Clock
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.features import Features
from fleet_sim.world.inbox import Inbox
from fleet_sim.world.pipeline import Phase, Pipeline, Profiler, System, any_span, each_step
from fleet_sim.world.snapshot import SnapshotBoard
from fleet_sim.world.user_code import FaultGuard
from fleet_sim.world.world import World


class MultiRobotSimulationCore(DocumentedNames):
    """A simulation of a fleet.

    `world` holds all state; `pipeline` runs a step. Entities are spawned with `spawn`, managers or a scenario file, and
    driven through their handles, or through commands put into the `inbox` from any thread. Apart from building and
    stepping, the work is done by `population`, `runner`, `control`, `state`, `view`, `monitor` and `extensions`.
    """

    def __init__(self, params: SimulationParams | None = None, collision_color: Sequence[float] | None = None) -> None:
        """Build an empty simulation. PyBullet is loaded at once with `gui`, otherwise at its first use."""
        self.params = used(params)
        self.origin = Origin.of(self.params)
        self._build_world()
        self._build_engine()
        self._build_features()
        self._connect()
        self._build_services(collision_color)
        self._list_systems()
        self._closed = False
        self._settle()
        if self.params.gui:
            self.view.connect()
            self.view.configure()

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], *, source: str = "") -> MultiRobotSimulationCore:
        """Build a simulation from settings, or from a scenario with its robots and objects; raises ConfigError.

        Without a display there is no window, unless the settings ask for one: then StateError is raised.
        """
        config = without_needless_window(with_implied_settings(as_scenario(config), source=source))
        sim = cls(SimulationParams.from_dict(config, source=source))
        try:
            fill_scenario(sim, config, source=source)
        except BaseException:
            sim.close()
            raise
        return sim

    @classmethod
    def from_yaml(cls, path: str | Path) -> MultiRobotSimulationCore:
        """Build a simulation from a YAML file; raises ConfigError naming file, key and what is allowed."""
        return cls.from_dict(load_mapping(path), source=str(path))

    @classmethod
    def from_state(cls, path: str | Path, **settings: Any) -> MultiRobotSimulationCore:
        """Build the simulation that wrote a state file, and go on from there.

        `settings` of the simulation take the place of those in the file, such as `gui=False`. Raises StateFileError,
        also for a setting that would change the run, and ConfigError for what the scenario needs and is not here.
        """
        with scenario_of(path, settings.get("model_paths", ())) as (scenario, source):
            sim = cls.from_dict(with_settings(scenario, settings), source=source)
        try:
            sim.state.begin(path)
        except BaseException:
            sim.close()
            raise
        return sim

    # ---- building ----------------------------------------------------------------------------------------------------

    def _build_world(self) -> None:
        params = self.params
        self.clock = Clock(params.timestep)
        self.guard = FaultGuard(raise_on_fault=params.raise_on_fault, max_failures=params.max_failures)
        self.world = World(self.clock, seed=params.seed, guard=self.guard)
        self.world.physics, self.world.gravity = params.physics, params.gravity
        self.world.block_on_collision_default = params.block_on_collision
        self.world.blocked_timeout = params.blocked_timeout
        self.world.extent = params.world_extent
        self.world.model_paths = tuple(str(checked_folder(folder, "model_paths")) for folder in params.model_paths)
        self.world.on_remove.append(partial(attachments.release_all, self.world))
        self.pipeline = Pipeline(self.world)
        self.profiler = Profiler(self.pipeline)

    def _build_engine(self) -> None:
        params = self.params
        client = BulletClient(
            gui=params.gui,
            gravity=params.gravity,
            floor=params.enable_floor,
            window=(params.window_width, params.window_height),
            solver_iterations=params.solver_iterations,
            contact_erp=params.contact_erp,
        )
        visuals = params.engine_visuals or params.gui
        # Looked up when asked: it is made below.
        exempt_links: LinkPairs = lambda row: self.link_contacts.exempt(row)  # noqa: E731
        self.mirror = BulletMirror(
            self.world,
            client,
            params.pose_flush,
            visuals=visuals,
            inertia_from_file=params.inertia_from_file,
            exempt_links=exempt_links,
        )
        self.engine = make_engine(params, self.world, self.mirror, exempt_links)
        self.bullet = BulletHandle(self.mirror, self)

    def _build_features(self) -> None:
        params, world = self.params, self.world
        self.inbox = Inbox()
        self.dispatcher = FleetCommandDispatcher(self)
        self.actions = ActionScheduler(world)
        self.motion = MotionSystem()
        self.driven = EngineDriven(world)
        self.avoidance = AvoidanceSystem(world, candidate_pairs)
        self.exact = ExactDistances(world)
        self.link_contacts = LinkContacts(world, self.exact, margin=params.collision_margin)
        self.blocking = BlockingSystem(world, self.exact.posed, (OMNI, DIFFERENTIAL))
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
            solve=self.exact.reaching,
            contacts=self.engine.contact_pairs,
        )
        self.collisions.set_frequency(params.collision_check_frequency)
        self.self_collisions = SelfCollisions(
            world, self.pipeline, touching=self.link_contacts.touching, due=lambda: self.collisions.due
        )
        pairs = lambda: self.collisions.pairs  # noqa: E731  looked up when asked: each check replaces them
        self.sensors = SensorSystem(
            SensorContext(
                world, self.mirror, pairs, self.engine.reactions, params.camera_budget, floor=params.enable_floor
            )
        )
        self.finite = FiniteGuard(world)
        self.snapshots = SnapshotBoard(world, pairs, lambda function: self.control.between_steps(function))
        self.features = Features(self)

    def _connect(self) -> None:
        """Connect the parts to the world, and register their state outside the columns for checkpoints."""
        world = self.world
        world.actions, world.bodies, world.bodies_at = self.actions, self.engine, self.blocking.bodies_at
        world.links, world.sensors, world.features = WorldLinks(world), self.sensors, self.features
        world.laws, world.plan_controller = laws, goal_controllers.plan
        self.mirror.on_read = partial(attachments.follow_rows, self.world)
        self.checkpoints = Checkpoints(self.world)
        self.checkpoints.register("actions", self.actions)
        # Before the engine, whose filters follow it.
        self.checkpoints.register("collision_filters", self.world.collision_filters)
        self.checkpoints.register("collisions", self.collisions)
        self.checkpoints.register("self_collisions", self.self_collisions)
        self.checkpoints.register("sensors", self.sensors)
        self.checkpoints.register("reactions", self.engine.reactions)
        self.checkpoints.register("engine", self.engine.checkpoints)

    def _build_services(self, collision_color: Sequence[float] | None) -> None:
        """Build the objects of the public interface, each from the parts it needs."""
        self.control = RunControl(self.world, self.inbox)
        self.extensions = Extensions(self, self.clock, self.guard)
        self.checkpoints.register("plugins", self.extensions)
        self.population = Population(self)
        self.collision_queries = CollisionQueries(self)
        self.queries = SpatialQueries(self.world, self.exact, floor=self.params.enable_floor)
        self.view = View(self, collision_color)
        self.monitor = Monitor(self)
        self.state = State(self, self.origin)
        self.runner = Runner(self, self._advance, self.monitor, self.view)
        follow_changes(self, self.view)

    def _list_systems(self) -> None:
        """The step, in order."""
        world, extensions, actions = self.world, self.extensions, self.actions
        events, params = StepEvents(world), self.params
        collisions, sensors, snapshots, view = self.collisions, self.sensors, self.snapshots, self.view

        # Read here and not asked of each part: calls for what has nothing to do are a third of a small step.
        def checks() -> bool:
            return collisions.schedule is not None

        def colors() -> object:
            return params.enable_collision_color_change or view.highlight.shown

        def logs() -> bool:
            return params.enable_time_profiling or params.enable_memory_profiling

        update = Update(self, events, CompiledCode(world, collisions, params.compiled_code))
        for system in (
            System("begin_step", Phase.UPDATE, each_step(update.begin), span=any_span),
            System("inbox", Phase.UPDATE, each_step(update.take_commands), self.inbox.asking),
            System("pre_step", Phase.UPDATE, events.pre_step, world.events.asking("pre_step")),
            System("pre_update", Phase.UPDATE, events.pre_update, events.wants_update),
            System(
                "actions", Phase.UPDATE, actions.run, lambda: actions.woken or actions.polled or actions.timers.heap
            ),
            System("controllers", Phase.UPDATE, events.run_controllers, world.hooks.asking_controllers),
            System("motion", Phase.UPDATE, update.move, span=update.span),
            System("joints", Phase.UPDATE, update.move_joints, lambda: world.joints.used, update.span_of_joints),
            System("entity_callbacks", Phase.UPDATE, events.run_entity_callbacks, events.wants_update),
            System("callbacks", Phase.UPDATE, each_step(extensions.run_callbacks), extensions.has_callbacks),
            System("plugins", Phase.UPDATE, each_step(extensions.run_plugins), extensions.has_plugins),
            System(
                "attachments", Phase.UPDATE, each_step(attachments.follow, world), lambda: world.may_carry, any_span
            ),
            System("finite", Phase.UPDATE, self.finite.run, span=any_span),
            System("pose_flush", Phase.FLUSH, each_step(self.mirror.flush), span=any_span),
            System(
                "physics",
                Phase.PHYSICS,
                self._step_physics,
                lambda: self.params.physics,
                # Who has rules for driving counts the ticks, as the traffic does; what acts in each needs its own step.
                lambda: 1 if world.drive_rules or self.pipeline.acts_in_ticks else self.runner.ticks_left,
            ),
            System("bounds", Phase.BOUNDS, collisions.bounds, checks, any_span),
            System("collisions", Phase.COLLIDE, collisions.run, checks, collisions.span),
            System(
                "collision_events",
                Phase.COLLIDE,
                collisions.emit,
                lambda: len(collisions.started) or len(collisions.ended),
            ),
            System("highlight", Phase.OBSERVE, each_step(view.show_collisions), colors),
            System(
                "sensors", Phase.OBSERVE, sensors.run, lambda: sensors.busy is None or sensors.busy or sensors.fresh
            ),
            System("snapshot", Phase.OBSERVE, each_step(snapshots.refresh), lambda: snapshots.readers),
            System("monitor", Phase.OBSERVE, each_step(self.monitor.log_profile), logs),
            System("post_step", Phase.OBSERVE, events.post_step, world.events.asking("post_step")),
        ):
            self.pipeline.add(system)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step_once(self, return_profiling: bool = False) -> dict[str, Any] | None:
        """Advance by one time step, unless paused; returns the profile if asked for.

        Raises StateError from inside a step, and while another thread runs the simulation. Exceptions in user code are
        isolated (see `params.raise_on_fault`).
        """
        if self.control.holds_back("step_once"):
            return {} if return_profiling else None
        self._advance()
        return self.monitor.profile() if return_profiling else None

    def _advance(self, most: int = 1) -> None:
        """Make one step of up to `most` ticks, paused or not, then run the calls waiting for its end."""
        if self._closed:
            raise StateError("this simulation was closed; build a new one")
        # Before the initial state is saved, so that it includes their effects.
        if self.inbox.asking():
            self.inbox.drain_between_steps(self.dispatcher)
        if self.params.gui:
            self.view.prepare()
        if self.params.keep_initial_state and not self.state.has_initial:
            self.state.remember_initial()
        try:
            with self.control.quiet:
                self.pipeline.step(self.clock.dt, self.pipeline.ticks_at_once(most) if most > 1 else 1)
        finally:
            self.mirror.end_step()
        self.profiler.end_step()
        if self.control.asking():
            self.control.run_tasks()
        if self.inbox.asking():
            self.inbox.drain_between_steps(self.dispatcher)

    def _step_physics(self, dt: float) -> None:
        """Let the engine make the ticks of this step, until what the runner waits for has come."""
        for left in reversed(range(self.pipeline.ticks)):
            self._step_engine(dt)
            if not left or self.runner.has_come():
                return
            self.clock.tick += 1
            self.engine.begin_step()

    def _step_engine(self, dt: float) -> None:
        attachments.part(self.world, self.exact.distances)
        if self.engine.step(dt):
            self.driven.read_back()
            # Bodies moved by the engine may carry objects too.
            attachments.follow(self.world)
            if not self.engine.restores_nonfinite_poses:
                self.finite.run(dt)

    # ---- the end -----------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """End `run_simulation` if it runs, shut plugins down and disconnect PyBullet; may be called again.

        Raises StateError inside a step; call `stop` there. A closed simulation can be read, but no longer stepped.
        """
        if self.world.in_step and not self.control.runs_elsewhere:
            raise StateError("close() was called from inside a step; call stop() there, and close() after the run")
        self.control.stop()
        self.control.wait_for_others()
        if not self._closed:
            self.world.events.emit("closed")
        self._closed = True
        self.snapshots.close()
        self.monitor.close()
        self.extensions.shutdown()
        self.mirror.close()

    def __enter__(self) -> MultiRobotSimulationCore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
