"""Velocities of discs that avoid each other, against the definition of ORCA, solved by trying all corners."""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.robots.motion.orca import MovingDiscs, Obstacles, avoiding_velocities

Plane = tuple[complex, complex]
"""A point of the edge, and the unit vector into what is allowed."""


def half_plane(place: complex, relative: complex, own: complex, radii: float, horizon: float, share: float) -> Plane:
    """From the nearest point of the boundary of what leads to a contact: a cone, cut off by a disc."""
    middle, radius = place / horizon, radii / horizon
    # Where a ray from the origin touches the disc, on both sides.
    spread = math.asin(radii / abs(place))
    reach = math.sqrt(abs(place) ** 2 - radii**2) / horizon
    found: list[tuple[complex, complex]] = []
    out = relative - middle
    if abs(cmath.phase(-out / place)) <= 0.5 * math.pi - spread:
        found.append((middle + radius * out / abs(out), out / abs(out)))
    for side in (1, -1):
        ray = place / abs(place) * cmath.exp(1j * side * spread)
        along = (relative * ray.conjugate()).real
        if along >= reach:
            found.append((along * ray, 1j * side * ray))
    point, outward = min(found, key=lambda each: abs(each[0] - relative))
    return own + share * (point - relative), outward


def nearest(planes: list[Plane], wanted: complex, speed: float) -> complex | None:
    """The allowed velocity that is nearest to `wanted`: it is that, or on an edge, or where two edges meet."""
    tries = [wanted, wanted * min(1.0, speed / abs(wanted))]
    for point, normal in planes:
        along = 1j * normal
        foot = point + ((wanted - point) * along.conjugate()).real * along
        base = (point * normal.conjugate()).real
        tries.append(foot)
        if abs(base) < speed:
            tries += [base * normal + sign * math.sqrt(speed**2 - base**2) * along for sign in (1, -1)]
    for (p, n), (q, m) in itertools.combinations(planes, 2):
        cross = (n.conjugate() * m).imag
        if abs(cross) > 1e-6:
            c, d = (p * n.conjugate()).real, (q * m.conjugate()).real
            tries.append(complex(c * m.imag - d * n.imag, d * n.real - c * m.real) / cross)
    good = [u for u in tries if abs(u) <= speed + 1e-9 and all(depth(plane, u) >= -1e-9 for plane in planes)]
    return min(good, key=lambda u: abs(u - wanted)) if good else None


def depth(plane: Plane, velocity: complex) -> float:
    return ((velocity - plane[0]) * plane[1].conjugate()).real


class Crowd(NamedTuple):
    """Discs: where they are, how they move, how large they are, who avoids others, limits, horizons, and wishes."""

    at: Sequence[complex]
    velocities: Any
    radii: Any
    yields: Any
    speeds: Any
    horizons: Any
    aims: Any

    def choice(self, i: int, walls: list[tuple[complex, float]]) -> tuple[str, complex]:
        """What one that avoids others does, and its velocity; `walls` are offsets, and how fast they may be neared."""
        aim, speed = self.aims[i], self.speeds[i]
        planes = [
            half_plane(
                self.at[j] - self.at[i], self.velocities[i] - self.velocities[j], self.velocities[i],
                self.radii[i] + self.radii[j], self.horizons[i], 0.5 if self.yields[j] else 1.0,
            )
            for j in range(len(self.at)) if j != i
        ]  # fmt: skip
        for way, allowed in walls:
            top = max((abs(way) - self.radii[i]) / self.horizons[i], allowed)
            planes.append((top * way / abs(way), -way / abs(way)))
        if all(depth(plane, aim) >= 0.1 * abs(aim) for plane in planes):
            return "free", aim
        best = nearest(planes, aim * cmath.exp(-0.1j), speed)
        if best is None:
            return "stuck", 0j
        if abs(best) >= 0.1 * abs(aim):
            return "turned", best
        # It steps to the right, or to the left where that is more than twice as fast.
        steps = [(nearest(planes, aim * cmath.exp(turn), speed), turn) for turn in (-1.3j, 1.3j)]
        gains = [(step * (aim * cmath.exp(turn)).conjugate()).real for step, turn in steps if step is not None]
        aside = steps[int(gains[1] > 2.0 * max(gains[0], 0.0))][0]
        assert aside is not None
        return "aside", aside


@holds(
    "api:AgentSpawnParams.controller.avoidance",
    fault="robots/motion/orca.py: of two that avoid each other each makes all of the correction",
)  # fmt: skip
def test_each_takes_the_velocity_nearest_to_what_it_wants() -> None:
    rng, kinds = np.random.default_rng(12), set()
    for _ in range(60):
        at: list[complex] = []
        radii = rng.uniform(0.2, 0.4, 6)
        while len(at) < 6:
            spot = complex(*rng.uniform(-1.6, 1.6, 2))
            if all(abs(spot - other) > 1.05 * (radii[len(at)] + radii[k]) for k, other in enumerate(at)):
                at.append(spot)
        velocities = rng.normal(size=(6, 2)) @ [0.4, 0.4j]
        aims = np.array([-spot + complex(*rng.normal(size=2) * 0.3) for spot in at])
        yields, speeds, horizons = rng.uniform(size=6) < 0.8, rng.uniform(0.6, 1.4, 6), rng.uniform(0.7, 2.0, 6)
        aims *= np.minimum(1.0, 0.97 * speeds / np.abs(aims))
        pairs = np.array(list(itertools.combinations(range(6), 2))).T
        walls = Obstacles(np.array([0, 2]), np.array([0.6, -0.5]), np.array([-0.3, 0.9]), np.array([-np.inf, 0.2]))
        places = np.array(at)
        discs = MovingDiscs(places.real, places.imag, velocities.real, velocities.imag, radii, yields)
        found = avoiding_velocities(
            discs, (pairs[0], pairs[1]), (aims.real, aims.imag), speeds, horizon=horizons, dt=0.1, obstacles=walls,
            push_apart=False,
        )  # fmt: skip
        crowd = Crowd(at, velocities, radii, yields, speeds, horizons, aims)
        for i in range(6):
            told = complex(found[0][i], found[1][i])
            beside = [(complex(x, y), allowed) for owner, x, y, allowed in zip(*walls, strict=True) if owner == i]
            kind, best = crowd.choice(i, beside) if yields[i] else ("free", aims[i])
            kinds.add(kind)
            assert kind == "stuck" or told == pytest.approx(best, abs=1e-7 if kind != "free" else 0.0)
    assert kinds >= {"free", "turned", "aside"}


@holds(
    "api:AgentSpawnParams.controller.avoidance", "api:Agent.velocity",
    fault="robots/motion/system.py: boxes are turned the other way; discs without their clearance",
)  # fmt: skip
def test_robots_of_a_world_choose_by_their_own_sizes_limits_and_goals() -> None:
    dt, turned = 0.05, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sim = fs.MultiRobotSimulationCore(
            fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, enable_floor=False, compiled_code="never")
        )
        radii, speeds, horizons = rng.uniform(0.15, 0.25, 6), rng.uniform(0.7, 1.3, 6), rng.uniform(1.2, 2.2, 6)
        yields, yaws, robots = np.arange(6) < 4, rng.uniform(-3.0, 3.0, 6), []
        starts = [rng.uniform(1.0, 1.4) * cmath.exp(1j * (k + 0.3 * rng.uniform())) for k in range(6)]
        goals = [-1.6 * start * cmath.exp(0.4j * rng.uniform(-1.0, 1.0)) for start in starts]
        # One is near its goal, for which it brakes.
        goals[0] = starts[0] + 0.25 * cmath.exp(1j * seed)
        for k, start in enumerate(starts):
            shape = fs.ShapeParams("cylinder", radius=radii[k], height=0.2)
            robot = sim.spawn(fs.AgentSpawnParams(
                shape, shape, fs.Pose.from_yaw(start.real, start.imag, 0.1, yaws[k]), motion_mode="omnidirectional",
                controller={"type": "omni", "avoidance": horizons[k] if yields[k] else 0.0},
                max_linear_vel=speeds[k], max_linear_accel=6.0,
            ))  # fmt: skip
            robots.append(robot)
            if yields[k]:
                robot.set_goal_pose(fs.Pose.from_yaw(goals[k].real, goals[k].imag, 0.1, yaws[k]))
        robots[4].set_velocity(0.3, 0.2)
        half, turn, middle = rng.uniform(0.1, 0.3, 2), rng.uniform(-3.0, 3.0), 0.3 * complex(*rng.uniform(-1, 1, 2))
        block = fs.ShapeParams("box", half_extents=(*half, 0.1))
        sim.spawn(
            fs.SimObjectSpawnParams(block, block, fs.Pose.from_yaw(middle.real, middle.imag, 0.1, turn), mass=0.0)
        )
        for _ in range(16):
            at = [complex(*robot.position[:2]) for robot in robots]
            velocities = [complex(*robot.velocity[:2]) for robot in robots]
            ways = np.array(goals) - at
            far = np.maximum(np.abs(ways), 1e-9)
            aims = ways * np.minimum(np.minimum(speeds, far / dt), np.sqrt(2.0 * 6.0 * far)) / far
            # As robots cannot change their velocity at once, discs are larger by 0.15.
            crowd = Crowd(at, velocities, 1.15 * radii, yields, speeds, horizons, aims)
            gaps = [abs(at[i] - at[k]) - 1.15 * (radii[i] + radii[k]) for i, k in itertools.combinations(range(6), 2)]
            if min(gaps) < 0.0:
                break
            sim.step_once()
            for i in np.flatnonzero(yields).tolist():
                own = (at[i] - middle) * cmath.exp(-1j * turn)
                inside = complex(*np.clip((own.real, own.imag), -half, half))
                way = (inside - own) * cmath.exp(1j * turn)
                kind, best = crowd.choice(i, [(way, (aims[i] * way.conjugate()).real / abs(way))])
                # Who is free drives by its law; this is what a step can change.
                if kind == "turned" and abs(best - velocities[i]) < 6.0 * dt:
                    assert complex(*robots[i].velocity[:2]) == pytest.approx(best, abs=1e-6), (seed, i, kind)
                    turned += 1
        sim.close()
    assert turned > 40
