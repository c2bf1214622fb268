"""What the facades know of the simulation they are part of."""

from __future__ import annotations

from threading import get_ident
from typing import Any

from fleet_sim.actions.scheduler import ActionScheduler
from fleet_sim.arrays import Rows
from fleet_sim.bullet.client import BulletClient
from fleet_sim.bullet.gui import Gui
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.query import BulletHandle, BulletQueries
from fleet_sim.bullet.visualizer import Visualizer
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.modes import CollisionMode
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.callbacks import CallbackList
from fleet_sim.core.checkpoint import Checkpoint, Checkpoints
from fleet_sim.core.clock import Clock
from fleet_sim.core.events import EventBus
from fleet_sim.core.faults import FaultGuard
from fleet_sim.core.inbox import Inbox
from fleet_sim.core.pipeline import Pipeline
from fleet_sim.core.plugins import PluginRunner
from fleet_sim.core.profiler import Profiler
from fleet_sim.core.world import World
from fleet_sim.entities.dispatch import FleetCommandDispatcher
from fleet_sim.errors import StateError
from fleet_sim.sensors.system import SensorSystem


class SimulationParts:
    """The parts a simulation is made of."""

    params: SimulationParams
    world: World
    clock: Clock
    guard: FaultGuard
    pipeline: Pipeline
    profiler: Profiler
    inbox: Inbox
    dispatcher: FleetCommandDispatcher
    actions: ActionScheduler
    collisions: CollisionSystem
    checkpoints: Checkpoints
    sensors: SensorSystem
    bullet: BulletHandle
    _client: BulletClient
    _mirror: BulletMirror
    _queries: BulletQueries
    _visualizer: Visualizer
    _gui: Gui
    _callbacks: CallbackList
    _plugins: PluginRunner
    _managers: dict[str, Any]
    _initial: Checkpoint | None
    _loop_thread: int | None
    _paused: bool

    @property
    def events(self) -> EventBus:
        """Events of the whole simulation; `events.on(name, handler)` calls `handler` with the details as keywords.

        pre_step, post_step (dt, sim_time); pre_update (dt, entity), post_update (dt, entity, moved); action_started
        (agent, action), action_completed (agent, action, status); arrived, blocked, joints_settled (agent);
        collision_started, collision_ended (obj_a, obj_b); object_spawned, object_removed (obj); agent_spawned,
        agent_removed (agent); fleet_command (command); paused, resumed, reset, cleared, closed. An entity's own
        `events` leave out the entity itself.
        """
        return self.world.events

    @property
    def step_count(self) -> int:
        """How many steps were made."""
        return self.clock.tick

    @property
    def sim_time(self) -> float:
        """Simulation time in s: at the start of the current step, or now when outside one."""
        return self.clock.time

    def _runs_elsewhere(self) -> bool:
        return self._loop_thread not in (None, get_ident())

    def _require_between_steps(self, what: str) -> None:
        if self._runs_elsewhere():
            raise StateError(
                f"{what}() was called while run_simulation() runs in another thread; use sim.between_steps(...) for it"
            )
        if self.world.in_step:
            raise StateError(f"{what}() was called from inside a step; use sim.between_steps(...) for it")

    def _structures(self) -> Rows:
        """Return the rows of what never moves."""
        world = self.world
        static: Rows = world.rows[world.collision_mode[world.rows] == CollisionMode.STATIC.code]
        return static
