"""Robots that drive, recorded at every step, and what every law of motion has to keep in a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import fleet_sim as fs

YAW = 0.7


class Form(NamedTuple):
    """How many robots are moved, whether by compiled code, and by what step: as Python and as machine code."""

    count: int
    compiled_code: str
    dt: float

    def __str__(self) -> str:
        return f"{self.count}-{'compiled' if self.compiled_code == 'always' else 'python'}-{self.dt}"


FORMS = [Form(1, "never", 0.05), Form(7, "never", 0.013), Form(60, "always", 0.05)]


def limits(index: int) -> dict[str, float]:
    """Limits that are unequal, and others for each robot."""
    return {
        "max_linear_vel": 0.45 + 0.13 * (index % 11),
        "max_linear_accel": 0.55 + 0.31 * (index % 7),
        "max_angular_vel": 1.15 + 0.17 * (index % 9),
        "max_angular_accel": 1.35 + 0.37 * (index % 5),
    }


def turned(angles: Any) -> Any:
    """Return angles in (-pi, pi]."""
    return math.pi - (math.pi - angles) % (2.0 * math.pi)


def steps_of(way: float, limit: float, accel: float, dt: float) -> int:
    """Return in how many steps the ideal trapezoid has ended."""
    time = way / limit + limit / accel if way > limit * limit / accel else 2.0 * math.sqrt(way / accel)
    return math.ceil(time / dt - 1e-6)


def distances(line: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far along a line of many legs (L, 3) the points (N, 3), which come in order, are, and how far off."""
    legs = np.diff(line, axis=0)
    lengths = np.linalg.norm(legs, axis=1)
    begins = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    out = points[:, None] - line[None, :-1]
    shares = np.clip(np.einsum("nlk,lk->nl", out, legs) / np.maximum(lengths, 1e-12) ** 2, 0.0, 1.0)
    offs = np.linalg.norm(out - shares[..., None] * legs, axis=2)
    alongs, leg, chosen = begins + shares * lengths, 0, []
    for near in (offs < 1e-9).tolist():
        # On to the next leg that passes here when it has left this one: the line may cross itself.
        if not near[leg] and True in near[leg:]:
            leg += near[leg:].index(True)
        chosen.append(leg)
    at = np.arange(len(points))
    return alongs[at, chosen], offs[at, chosen]


@dataclass
class Move:
    """One robot from step to step: (T + 1, 3) and (T + 1, 4)."""

    positions: np.ndarray
    orientations: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray

    def part(self, first: int, last: int) -> Move:
        """Return the steps from state `first` to state `last`."""
        span = slice(first, last + 1)
        return Move(self.positions[span], self.orientations[span], self.velocities[span], self.spins[span])

    def since(self, first: int) -> Move:
        return self.part(first, len(self.positions) - 1)

    def yaws(self) -> np.ndarray:
        x, y, z, w = self.orientations.T
        return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    def body_velocities(self) -> np.ndarray:
        """Return velocities in the frame of a robot that stands upright."""
        turn = np.exp(-1j * self.yaws())
        flat = (self.velocities[:, 0] + 1j * self.velocities[:, 1]) * turn
        return np.stack((flat.real, flat.imag, self.velocities[:, 2]), axis=1)

    def turning(self) -> Move:
        """Return the turn as a move: the yaw, without jumps, along z, at the speed of turning."""
        yaws = np.unwrap(self.yaws())
        zero = np.zeros(len(yaws))
        return Move(np.stack((zero, zero, yaws - yaws[0]), axis=1), self.orientations, self.spins, self.spins)

    def way_to(self, goal: fs.Pose) -> np.ndarray:
        """Return the turn to a goal, the shorter way round."""
        return np.array([0.0, 0.0, turned(goal.yaw - self.yaws()[0])])


class Run:
    """Robots far apart, each turned another way, of one law."""

    def __init__(
        self, form: Form, mode: str, limits: Callable[[int], Mapping[str, Any]], features: dict[str, Any] | None = None
    ) -> None:
        params = fs.SimulationParams(
            gui=False, target_rtf=0, timestep=form.dt, collision_check_frequency=0, compiled_code=form.compiled_code
        )
        self.sim = fs.MultiRobotSimulationCore(params)
        box = fs.ShapeParams("box", half_extents=(0.21, 0.13, 0.09))
        self.starts = [
            fs.Pose.from_yaw(1.3 + 5.1 * (index % 8), -2.7 + 4.3 * (index // 8), 0.09, turned(0.7 + 1.1 * index))
            for index in range(form.count)
        ]
        self.robots = [
            self.sim.spawn(
                fs.AgentSpawnParams(
                    box, box, start, name=f"r{index}", motion_mode=mode, features=features or {}, **limits(index)
                )
            )
            for index, start in enumerate(self.starts)
        ]
        self.reader = self.sim.snapshots.subscribe()
        self.states = [self.sim.snapshots.request().result()]

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.sim.step_once()
            self.states.append(self.sim.snapshots.latest)

    def until_all_stand(self) -> None:
        while any(robot.is_moving for robot in self.robots):
            assert len(self.states) < 20_000
            self.steps(10)

    def of(self, index: int) -> Move:
        """Return what a robot did, until it stood for good."""
        columns = ("positions", "orientations", "velocities", "angular_velocities")
        move = Move(*(np.array([getattr(state, name)[index] for state in self.states]) for name in columns))
        same = (move.positions == move.positions[-1]).all(axis=1) & (move.orientations == move.orientations[-1]).all(
            axis=1
        )
        last = int(np.flatnonzero(~same)[-1]) + 1 if not same.all() else 0
        return move.part(0, last)


def goals(run: Run, seed: int, reach: float = 1.7, climb: float = 0.3) -> list[fs.Pose]:
    """A goal for each robot: from a hair away to `reach`, in all directions, and turned by any angle."""
    rng = np.random.default_rng(seed)
    out = []
    for start in run.starts:
        ahead = rng.normal(size=3) * [1.0, 1.0, climb]
        ahead *= reach * rng.uniform(0.02, 1.0) ** 2 / np.linalg.norm(ahead)
        out.append(fs.Pose.from_yaw(*(np.array(start.position) + ahead), rng.uniform(-math.pi, math.pi)))
    return out


def check_last_step(move: Move, accel: float, dt: float) -> None:
    """The last step speeds up and brakes within itself: it ends at rest where that can be.

    With u of the change a dt spent on braking from v, the rest can shift the end by a dt^2 (1 - u^2) / 4.
    """
    before, way = move.velocities[-2], move.positions[-1] - move.positions[-2]
    used = np.linalg.norm(before) / (accel * dt)
    assert used <= 1.0 + 1e-7
    assert np.linalg.norm(way - 0.5 * before * dt) <= 0.25 * accel * dt * dt * max(1.0 - used * used, 0.0) + 1e-8
    assert not move.velocities[-1].any()


def check_step(move: Move, accel: float, dt: float, most: float) -> None:
    """Each step is the mean of its velocities, which change by a dt at most and keep to the limit."""
    changes = np.linalg.norm(np.diff(move.velocities, axis=0), axis=1)
    assert changes.max() <= accel * dt * (1.0 + 1e-7)
    assert np.linalg.norm(move.velocities, axis=1).max() <= most * (1.0 + 1e-9)
    ways, means = np.diff(move.positions, axis=0), 0.5 * dt * (move.velocities[1:] + move.velocities[:-1])
    off = np.linalg.norm(ways - means, axis=1)
    for step in np.flatnonzero(off > 1e-9):
        check_last_step(move.part(step, step + 1), accel, dt)


def check_line(move: Move, goal: np.ndarray, most: float, accel: float, dt: float) -> None:
    """From rest to rest on a straight line: no faster than the ideal trapezoid, and two steps slower at most."""
    ways = move.positions - move.positions[0]
    total = float(np.linalg.norm(goal - move.positions[0]))
    if total < 1e-9:
        assert np.abs(ways).max() < 1e-9
        return
    ahead = (goal - move.positions[0]) / total
    along = ways @ ahead
    assert np.linalg.norm(ways - along[:, None] * ahead, axis=1).max() < 1e-8
    assert abs(along[-1] - total) < 1e-8 and (np.diff(along) >= -1e-12).all()
    # The first state in which it is there counts: it may stand and turn on.
    end = int(np.argmax(np.abs(along - along[-1]) < 1e-12))
    move = move.part(0, end)
    check_step(move, accel, dt, most)
    check_last_step(move, accel, dt)
    ideal = steps_of(total, most, accel, dt)
    assert ideal <= end <= ideal + 2
    speeds, left = move.velocities @ ahead, total - along
    for step in range(end):
        speed = speeds[step]
        faster = min(speed + accel * dt, most)
        # Where it could still brake after a step as fast as can be, it goes as fast as can be.
        if 0.5 * (speed + faster) * dt + 0.5 * faster * faster / accel < left[step] - 2e-8 - 0.5 * faster * dt:
            assert abs(speeds[step + 1] - faster) < 1e-9
        # It does not stop later than it can.
        used = speed / (accel * dt)
        if step < end - 1 and used < 1.0:
            off = abs(left[step] - 0.5 * speed * dt)
            assert off > 0.25 * accel * dt * dt * (1.0 - used * used) * (1.0 - 1e-6) - 1e-8


def check_arcs(move: Move, dt: float) -> None:
    """Each step is an arc of the mean twist in the body frame: velocities turn with the robot."""
    body, yaws = move.body_velocities(), move.yaws()
    turn = 0.5 * dt * (move.spins[1:, 2] + move.spins[:-1, 2])
    assert np.abs(turned(np.diff(yaws) - turn)).max() < 1e-9
    mean = 0.5 * (body[1:] + body[:-1])
    flat = (mean[:, 0] + 1j * mean[:, 1]) * np.exp(1j * yaws[:-1])
    # The integral of exp(i w t) over the step, by Simpson's rule on 64 parts.
    nodes = np.linspace(0.0, 1.0, 65)
    weights = np.where(np.arange(65) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    shape = np.exp(1j * turn[:, None] * nodes) @ (weights / weights.sum())
    way = move.positions[1:] - move.positions[:-1]
    assert np.abs(way[:, 0] + 1j * way[:, 1] - flat * shape * dt).max() < 1e-9
    assert np.abs(way[:, 2] - mean[:, 2] * dt).max() < 1e-9
