"""The systems of phase 1 that involve several parts: its beginning, commands, and robot motion."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from fleet_sim.actions.scheduler import ActionScheduler
from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.collision.blocking_system import Blocked, BlockingSystem
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.inbox import Dispatcher, Inbox
from fleet_sim.core.physics_engine import PhysicsEngine
from fleet_sim.core.profiler import Profiler
from fleet_sim.core.steering import POSE
from fleet_sim.core.world import World
from fleet_sim.entities import attachments, drive
from fleet_sim.facade.compiled_code import CompiledCode
from fleet_sim.facade.extensions import Extensions
from fleet_sim.facade.step_events import StepEvents
from fleet_sim.motion.avoidance_system import AvoidanceSystem
from fleet_sim.motion.joints import advance_joints
from fleet_sim.motion.system import MotionSystem

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

log = logging.getLogger("fleet_sim.motion")


@dataclass(eq=False, repr=False)
class Update:
    """Systems of phase 1 that coordinate several parts."""

    _world: World
    _profiler: Profiler
    _mirror: BulletMirror
    _engine: PhysicsEngine
    _inbox: Inbox
    _dispatcher: Dispatcher
    _actions: ActionScheduler
    _motion: MotionSystem
    _avoidance: AvoidanceSystem
    _blocking: BlockingSystem
    _events: StepEvents
    _extensions: Extensions
    _compiled_code: CompiledCode
    _watched: bool = field(default=False, init=False)
    """Whether user code may look at the world in phase 1 of this step."""
    _commands_due: int = field(default=0, init=False)
    """How many commands were in the inbox when the step began."""

    def begin(self) -> None:
        """Clear the moved flags of the previous step, and prepare this one."""
        world = self._world
        self._profiler.begin_step()
        if not world.compiled:
            self._compiled_code.decide()
        world.moved.fill(False)
        world.robots.joints_moved.fill(False)
        # Commands added from here on wait for the next step, so that handlers cannot keep a step from ending.
        self._commands_due = self._inbox.asking()
        self._watched = self._has_user_code()
        # The mirror copies poses for queries in phase 1; this is skipped if no code can query.
        # Blocking queries PyBullet too, for pairs without a closed form.
        self._mirror.begin_step(stage=self._watched or self._mirror.client.connected or self._blocking.is_wanted())
        self._engine.begin_step()

    def _has_user_code(self) -> bool:
        """Whether user code may read the world, or PyBullet, in phase 1 of this step."""
        world = self._world
        return bool(
            self._extensions
            or world.hooks
            or world.entity_events.buses
            or (self._commands_due and self._inbox.runs_code(self._commands_due))
            or self._actions.user_defined
            or world.events.has_handlers_of_any(PHASE_1_EVENTS)
        )

    def take_commands(self) -> None:
        """Apply the commands that were in the inbox when the step began, up to one that must run between steps."""
        self._inbox.drain(self._dispatcher, self._commands_due, in_step=True)

    def move(self, dt: float) -> None:
        """Move the robots' bases with avoidance and blocking; wake the actions of robots that arrived."""
        world = self._world
        if world.speed_rules.asking():
            with world.speed_rules.applied():
                ended = self._advance(dt)
        else:
            ended = self._advance(dt)
        # Before arrival is decided: who was held back has not arrived.
        blocked = self._blocking.after(ended) if self._blocking.is_active else Blocked(ended, NO_ROWS, NO_ROWS)
        arrived = self._motion.settle(world, blocked.arrived) if len(blocked.arrived) else blocked.arrived
        for listener in world.on_drive:
            listener(dt)
        if self._watched:
            # From here on, user code must see carried objects at their carriers.
            attachments.follow(world)
        if len(arrived):
            self._actions.arrived(arrived)
            self._events.to_agents("arrived", arrived)
        if len(blocked.newly):
            self._actions.blocked(blocked.newly)
            self._events.to_agents("blocked", blocked.newly)
        if len(blocked.overdue):
            self._give_up(blocked.overdue)

    def _give_up(self, rows: Rows) -> None:
        """Wake the actions of robots that have stood before static bodies for too long; end goals without an action."""
        world = self._world
        self._actions.blocked_too_long(rows)
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
        self._avoidance.before(dt)
        self._blocking.before()
        ended = self._motion.advance(self._world, dt)
        self._avoidance.after()
        return ended

    def move_joints(self, dt: float) -> None:
        """Move the robots' joints; wake actions whose joints arrived."""
        world = self._world
        settled = advance_joints(world, dt)
        if self._watched and world.robots.joints_moved.any():
            attachments.follow(world)
        if len(settled):
            self._actions.joints_settled(settled)
            self._events.to_agents("joints_settled", settled)
