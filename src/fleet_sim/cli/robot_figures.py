"""What each robot did in a run: goals, distance, waiting, collisions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause, ActionStatus
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.entities import drive
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.traffic.columns import TrafficColumns

STANDS = 1e-3
"""Below this speed (m/s, and rad/s) a robot stands."""


class RobotFigures:
    """Adds up what the robots of `sim` do from now on; of robots that are removed, too.

    A goal is the end of a path, or the place that traffic sent a robot to. A robot waits while it has a goal, or a
    command to drive, and stands. Distances come from velocities, so a teleport is no drive.
    """

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self._names: dict[int, str] = {}
        self._driven, self._waited = np.zeros(0), np.zeros(0)
        """By object id, which is not used again as rows are."""
        self._counts: Counter[tuple[int, str]] = Counter()
        self._blocked: dict[int, str] = {}
        """What the last goal of a robot failed for, by object id."""
        events = sim.events
        events.on("post_step", self._step)
        events.on("arrived", lambda agent: self._count(agent, "goals"))
        events.on("traffic_arrived", lambda agent, node: self._count(agent, "goals"))
        events.on("collision_started", self._collided)
        events.on("action_completed", self._ended)
        events.on("action_started", lambda agent, action: self._blocked.pop(agent.object_id, None))
        events.on("goal_failed", self._gave_up)

    def rows(self) -> list[dict[str, Any]]:
        """Return a line for each robot, by its number: its name and its figures."""
        self._meet()
        busy = {agent.object_id for agent in self._sim.agents if not agent.is_action_queue_empty()}
        label = self._sim.world.label
        stand = {agent.object_id: label(agent.blocked_by.row) for agent in self._sim.agents if agent.blocked_by}
        blocked = {**self._blocked, **stand}
        names = sorted(self._names.items())
        return [self._line(number, name, number in busy, blocked.get(number, "")) for number, name in names]

    def _line(self, number: int, name: str, busy: bool, blocked_by: str) -> dict[str, Any]:
        """Return the figures of one robot by column; `number` is its place in the fleet, in order of spawning."""
        # A robot that was spawned after the last step has not been added up.
        known = number < len(self._driven)
        return {
            "robot": name,
            "goals": self._counts[number, "goals"],
            "distance_m": float(self._driven[number]) if known else 0.0,
            "waiting_s": float(self._waited[number]) if known else 0.0,
            "collisions": self._counts[number, "collisions"],
            **{f"actions_{end}": self._counts[number, end] for end in ("completed", "failed", "cancelled")},
            "busy": busy,
            "blocked_by": blocked_by,
        }

    def _meet(self) -> None:
        for agent in self._sim.agents:
            self._names[agent.object_id] = agent.name or f"robot {agent.object_id}"

    def _step(self, dt: float, sim_time: float) -> None:
        """Add up, by object id, how far robots drove in this step and whether they waited."""
        world = self._sim.world
        rows = world.rows[world.kind[world.rows] == KIND_AGENT]
        if not len(rows):
            return
        numbers = world.object_id[rows]
        size = int(numbers.max()) + 1
        if size > len(self._driven):
            self._driven, self._waited = grown(self._driven, size), grown(self._waited, size)
        if len(self._names) < len(self._sim.agents) or not set(numbers.tolist()) <= self._names.keys():
            self._meet()
        speeds = np.linalg.norm(world.velocity[rows], axis=1)
        self._driven[numbers] += speeds * dt
        spins = np.linalg.norm(world.angular_velocity[rows], axis=1)
        waits_mask = drive.moving_mask(world, rows) & (speeds < STANDS) & (spins < STANDS)
        traffic = world.tables.get("traffic")
        if isinstance(traffic, TrafficColumns):
            waits_mask |= traffic.waiting[rows]
        self._waited[numbers] += waits_mask * dt

    def _count(self, agent: Any, what: str) -> None:
        self._counts[agent.object_id, what] += 1

    def _collided(self, obj_a: Any, obj_b: Any) -> None:
        for one in (obj_a, obj_b):
            self._count(one, "collisions")

    def _ended(self, agent: Any, action: Any, status: ActionStatus) -> None:
        self._count(agent, status.value)
        if action.cause is ActionCause.BLOCKED:
            self._blocked[agent.object_id] = action.blocked_by or ""

    def _gave_up(self, agent: Any, cause: ActionCause, message: str) -> None:
        if agent.blocked_by:
            self._blocked[agent.object_id] = self._sim.world.label(agent.blocked_by.row)


def grown(values: Floats, size: int) -> Floats:
    """Return `values` and zeros after them; twice as many as needed, so that spawning stays cheap."""
    return np.concatenate([values, np.zeros(2 * size - len(values))])
