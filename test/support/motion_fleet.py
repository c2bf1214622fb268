"""Small worlds to move robots in, and a record of how they moved."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fleet_sim.base.spatial.quaternions import from_yaws
from fleet_sim.robots.motion.laws import motion_law_index
from fleet_sim.robots.motion.system import MotionSystem
from fleet_sim.world.clock import Clock
from fleet_sim.world.steering import give_limits, give_paths
from fleet_sim.world.world import World

OMNI, DIFFERENTIAL = "omnidirectional", "differential"
LIMITS = {"linear_speed": 2.0, "linear_accel": 5.0, "angular_speed": 3.0, "angular_accel": 10.0}


@dataclass
class Record:
    """What the robots did: one entry per step, first the state before the first."""

    positions: list[np.ndarray] = field(default_factory=list)
    orientations: list[np.ndarray] = field(default_factory=list)
    velocities: list[np.ndarray] = field(default_factory=list)
    spins: list[np.ndarray] = field(default_factory=list)
    arrived_at: dict[int, int] = field(default_factory=dict)

    def speeds(self) -> np.ndarray:
        return np.linalg.norm(self.velocities, axis=2)

    def spin_speeds(self) -> np.ndarray:
        return np.linalg.norm(self.spins, axis=2)

    def speed_changes(self) -> np.ndarray:
        return np.linalg.norm(np.diff(self.velocities, axis=0), axis=2)

    def spin_changes(self) -> np.ndarray:
        return np.linalg.norm(np.diff(self.spins, axis=0), axis=2)


class Fleet:
    """Robots of one law in a world of their own, all at the origin to begin with."""

    def __init__(self, law: str = OMNI, count: int = 1, dt: float = 0.1, **limits: object) -> None:
        self.world = World(Clock(dt))
        self.rows = self.world.allocate([None] * count)
        self.motion = self.world.motion
        self.motion.law[self.rows] = motion_law_index(law)
        give_limits(self.world, self.rows, **{**LIMITS, **limits})  # type: ignore[arg-type]
        self.dt = dt
        self.system = MotionSystem()
        self.record = Record()
        self._note()

    def send(self, *paths: object, yaws: object = 0.0, rows: object = None, **options: object) -> None:
        """Send robot i along paths[i], a list of positions; `yaws` are of all waypoints."""
        lists = [np.atleast_2d(np.asarray(path, float)) for path in paths]
        points = np.concatenate(lists)
        turns = from_yaws(np.broadcast_to(np.asarray(yaws, float), (len(points),)).copy())
        lengths = np.array([len(path) for path in lists])
        target = self.rows[: len(paths)] if rows is None else rows
        give_paths(self.world, target, lengths, points, turns, **options)  # type: ignore[arg-type]

    def step(self, count: int = 1) -> np.ndarray:
        """Take steps; return the rows that arrived in the last one."""
        arrived = np.empty(0, np.int64)
        for _ in range(count):
            arrived = self.system.run(self.world, self.dt)
            self.world.clock.tick += 1
            for row in arrived.tolist():
                self.record.arrived_at[row] = self.world.clock.tick
            self._note()
        return arrived

    def finish(self, most: int = 20_000) -> int:
        """Step until nobody is under way; return the number of steps."""
        for count in range(most):
            if not self.motion.control[self.rows].any():
                return count
            self.step()
        raise AssertionError(f"still under way after {most} steps")

    def _note(self) -> None:
        world, record = self.world, self.record
        record.positions.append(world.position[self.rows].copy())
        record.orientations.append(world.orientation[self.rows].copy())
        record.velocities.append(world.velocity[self.rows].copy())
        record.spins.append(world.angular_velocity[self.rows].copy())
