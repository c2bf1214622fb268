"""Velocities of discs that avoid each other, against the definition of ORCA, solved by trying all corners."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest
from oracle_rows import holds

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
        for i in range(6):
            told = complex(found[0][i], found[1][i])
            if not yields[i]:
                assert told == aims[i]
                continue
            planes = [
                half_plane(
                    at[j] - at[i], velocities[i] - velocities[j], velocities[i], radii[i] + radii[j], horizons[i],
                    0.5 if yields[j] else 1.0,
                )
                for j in range(6) if j != i
            ]  # fmt: skip
            for owner, x, y, allowed in zip(*walls, strict=True):
                if owner == i and yields[i]:
                    way = complex(x, y)
                    top = max((abs(way) - radii[i]) / horizons[i], allowed)
                    planes.append((top * way / abs(way), -way / abs(way)))
            if all(depth(plane, aims[i]) >= 0.1 * abs(aims[i]) for plane in planes):
                assert told == aims[i]
                kinds.add("free")
                continue
            best = nearest(planes, aims[i] * cmath.exp(-0.1j), speeds[i])
            if best is None:
                kinds.add("stuck")
                continue
            if abs(best) < 0.1 * abs(aims[i]):
                # It steps to the right, or to the left where that is more than twice as fast.
                steps = [(nearest(planes, aims[i] * cmath.exp(turn), speeds[i]), turn) for turn in (-1.3j, 1.3j)]
                gains = [
                    (step * (aims[i] * cmath.exp(turn)).conjugate()).real for step, turn in steps if step is not None
                ]
                best = steps[int(gains[1] > 2.0 * max(gains[0], 0.0))][0]
                kinds.add("aside")
            kinds.add("turned")
            assert best is not None and told == pytest.approx(best, abs=1e-7)
    assert kinds >= {"free", "turned", "aside"}
