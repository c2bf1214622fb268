"""How robots that cannot move sideways choose their speeds, worked out once more with complex numbers, from what the
documentation of each part says; numbers that were found by trying stand here as what they are.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field

import numpy as np

from fleet_sim.robots.motion import evasion

TRACK, STAND, BACK = range(3)
ANGLES = (0.0, -0.25, 0.25, -0.5, 0.5, -0.85, 0.85, -1.25, 1.25, -1.75, 1.75, -2.4, 2.4, math.pi)
WAYS = [(STAND, 0.0, 1.0), (BACK, 0.0, 1.0), (TRACK, 0.0, 0.0)]
WAYS += [(TRACK, angle, share) for angle in ANGLES for share in (1.0, 0.6, 0.25)]
Floor = tuple[complex, complex, float]
"""What is reserved: from where to where, and how wide to either side."""


@dataclass
class Body:
    """A robot, or a body that others avoid."""

    steered: bool
    at: complex
    yaw: float
    v: float
    w: float
    velocity: complex
    radius: float
    speed: float
    accel: float
    spin: float
    spin_accel: float
    horizon: float
    target: complex
    others: list[int] = field(default_factory=list)
    boxes: list[int] = field(default_factory=list)


@dataclass
class Box:
    middle: complex
    turn: float
    half: complex

    def gap(self, point: complex) -> float:
        inside = (point - self.middle) * cmath.exp(-1j * self.turn)
        return abs(complex(max(abs(inside.real) - self.half.real, 0.0), max(abs(inside.imag) - self.half.imag, 0.0)))


@dataclass
class Scene:
    bodies: list[Body]
    boxes: list[Box]
    dt: float

    def near(self, i: int) -> list[tuple[complex, complex, float, int]]:
        """Place relative to robot i, velocity, distance to keep, and number of each that is near it."""
        own = self.bodies[i]
        others = [(self.bodies[j], j) for j in own.others]
        keep = [min(1.1 * (own.radius + b.radius), 0.999 * abs(b.at - own.at)) for b, _ in others]
        return [(b.at - own.at, b.velocity, gap, j) for (b, j), gap in zip(others, keep, strict=True)]

    def room(self, i: int, box: Box) -> float:
        own = self.bodies[i]
        return min(own.radius + 0.01, 0.999 * box.gap(own.at), 0.999 * box.gap(own.target))


def turned(angle: float) -> float:
    return cmath.phase(cmath.exp(1j * angle))


def closer(old: float, wanted: float, most: float) -> float:
    return old + min(max(wanted - old, -most), most)


def speeds_after(
    body: Body, kind: int, aim: float, speed: float, yaw: float, v: float, w: float, h: float
) -> tuple[float, float]:
    if kind == BACK:
        return closer(v, -0.4 * body.speed, body.accel * h), closer(w, 0.0, body.spin_accel * h)
    error = turned(aim - yaw)
    turn = min(body.spin, math.sqrt(1.4 * body.spin_accel * abs(error)), abs(error) / h)
    ahead = max(0.0, math.cos(error)) * speed
    return closer(v, ahead, body.accel * h), closer(w, math.copysign(turn, error), body.spin_accel * h)


def fast_enough(body: Body, share: float, distance: float, h: float) -> float:
    """The speed from which 0.8 of the limit stop it at its target."""
    return min(share * body.speed, math.sqrt(2.0 * 0.8 * body.accel * distance), distance / h)


def drive(scene: Scene, i: int, kind: int, offset: float, share: float) -> tuple[float, float]:
    """What a way costs, and when it hits something."""
    body = scene.bodies[i]
    h = max(scene.dt, body.horizon / 8)
    at, yaw, v, w = body.at, body.yaw, body.v, body.w
    aim, hit, aligned = cmath.phase(body.target - at) + offset, math.inf, kind != STAND
    for step in range(max(1, math.ceil(body.horizon / h - 1e-9))):
        way = body.target - at
        if offset == 0.0 and abs(way) > 1e-6:
            aim = cmath.phase(way)
        aligned = aligned or (abs(turned(aim - yaw)) < 0.02 and abs(w) < 0.05)
        speed = fast_enough(body, share, abs(way), h) if aligned else 0.0
        new_v, new_w = speeds_after(body, kind, aim, speed, yaw, v, w, h)
        turn = 0.5 * (w + new_w) * h
        move = 0.5 * (v + new_v) * h * cmath.exp(1j * (yaw + 0.5 * turn))
        if hit == math.inf:
            for place, velocity, keep, _ in scene.near(i):
                begin = place + velocity * step * h - (at - body.at)
                change = velocity * h - move
                nearest = 0.0
                if change:
                    nearest = min(max(-(begin * change.conjugate()).real / abs(change) ** 2, 0.0), 1.0)
                if abs(begin + nearest * change) < keep:
                    hit = min(hit, (step + nearest) * h)
            for box in [scene.boxes[k] for k in body.boxes if kind != STAND]:
                if box.gap(at + move) < scene.room(i, box):
                    hit = min(hit, step * h)
        at, yaw, v, w = at + move, yaw + turn, new_v, new_w
    cost = left_over(scene, i, at, yaw, v) + (0.05 if offset > 0.0 else 0.0)
    if hit < body.horizon:
        cost += 3.0 * body.horizon * (1.0 - hit / body.horizon) ** 2 + 0.1
    return cost, hit


def left_over(scene: Scene, i: int, at: complex, yaw: float, v: float) -> float:
    body = scene.bodies[i]
    way = body.target - at
    distance = abs(way)
    seconds = distance / body.speed
    if distance <= 0.05:
        return seconds
    seconds += 0.5 * min(1.0, distance) * abs(turned(cmath.phase(way) - yaw)) / body.spin
    seconds += 0.5 * (body.speed - max(0.0, v)) / body.accel * min(1.0, distance / body.speed)
    late = 0.0
    for place, velocity, keep, _ in scene.near(i):
        ahead = (place - (at - body.at)) * way.conjugate() / distance
        if abs(velocity) <= 0.3 * body.speed and 0.0 < ahead.real <= distance:
            late += 0.5 * max(0.0, 1.0 - abs(ahead.imag) / (1.5 * keep + 1e-9))
    return seconds + min(late, 3.0 * body.horizon)


def floor_of(body: Body, v1: float, w1: float, dt: float) -> Floor:
    """What a robot sweeps in a step and braking after it."""
    points, at, yaw, v, w, h, bend = [body.at], body.at, body.yaw, body.v, body.w, dt, 0.0
    while len(points) <= 16:
        ahead, turn = 0.5 * (v + v1) * h, 0.5 * (w + w1) * h
        at, yaw, bend = at + ahead * cmath.exp(1j * (yaw + 0.5 * turn)), yaw + turn, max(bend, abs(ahead * turn) / 8)
        points.append(at)
        if len(points) == 2:
            h = max(h, abs(v1) / (13 * body.accel))
        v, w, v1, w1 = v1, w1, closer(v1, 0.0, body.accel * h), closer(w1, 0.0, body.spin_accel * h)
        if v == 0.0 == v1:
            break
    line = at - body.at
    aside = max(abs(((p - body.at) * line.conjugate()).imag) / abs(line) for p in points) if abs(line) > 1e-9 else 0.0
    return body.at, at, bend + aside


def gap(one: Floor, other: Floor) -> float:
    """The distance of two segments, by trying: of points on the one to the other itself."""
    shares = np.linspace(0.0, 1.0, 4001)
    points = one[0] + shares * (one[1] - one[0])
    way = other[1] - other[0]
    along = np.clip(((points - other[0]) * np.conj(way)).real / max(abs(way) ** 2, 1e-30), 0.0, 1.0)
    return float(np.abs(points - other[0] - along * way).min())


def is_clear(scene: Scene, i: int, own: Floor, floors: list[Floor], by_law: bool) -> bool:
    body = scene.bodies[i]
    for j in body.others:
        other = scene.bodies[j]
        keep = body.radius + other.radius + own[2] + floors[j][2] + 0.01
        if gap(own, floors[j]) < min(keep, abs(body.at - other.at) - 1e-6):
            return False
    points = [own[0] + share * (own[1] - own[0]) for share in (0.25, 0.5, 0.75, 1.0)]
    boxes = [] if by_law else [scene.boxes[k] for k in body.boxes]
    return all(box.gap(point) >= scene.room(i, box) for box in boxes for point in points)


def choose(scene: Scene, know: evasion.Choice) -> list[tuple[bool, bool, float, float]]:
    """Who was held, who is left to its law, and the speeds of each robot."""
    brake = [(closer(b.v, 0.0, b.accel * scene.dt), closer(b.w, 0.0, b.spin_accel * scene.dt)) for b in scene.bodies]
    floors: list[Floor] = [
        floor_of(b, *speeds, scene.dt) if b.steered else (b.at, b.at + 0.4 * b.velocity, 0.0)
        for b, speeds in zip(scene.bodies, brake, strict=True)
    ]
    found = [(bool(held), True, 0.0, 0.0) for held in know.held]
    for i, body in enumerate(scene.bodies):
        if not body.steered:
            continue
        if know.settled[i]:
            floors[i] = (body.at, body.at, 0.0)
            continue
        before = [(place * (body.target - body.at).conjugate()).real > 0.0 for place, *_ in scene.near(i)]
        slow = 0.15 * body.speed
        held = bool(know.held[i])
        if abs(body.v) <= 0.1 * slow and abs(turned(cmath.phase(body.target - body.at) - body.yaw)) <= 0.15:
            for (place, velocity, _, j), ahead in zip(scene.near(i), before, strict=True):
                reach = 2.0 * (body.radius + scene.bodies[j].radius)
                if ahead and abs(velocity) <= slow and abs(place) < reach:
                    held = held or drive(scene, i, STAND, 0.0, 1.0)[1] < math.inf
        jam = sum(
            ahead and abs(velocity) <= slow and scene.bodies[j].steered and not know.settled[j]
            and abs(place) < 4.0 * (body.radius + scene.bodies[j].radius)
            for (place, velocity, _, j), ahead in zip(scene.near(i), before, strict=True)
        )  # fmt: skip
        leaves = bool(know.leaves[i]) and (held or jam >= 2)
        goal = body.target
        if leaves:
            away = cmath.exp(1j * know.turn[i])
            for place, _, _, j in scene.near(i):
                if 0.0 < abs(place) < 4.0 * (body.radius + scene.bodies[j].radius):
                    away -= place / abs(place) ** 2
            body.target = body.at + 4.0 * away / abs(away)
        law, v, w, floors[i] = cheapest(scene, i, know, leaves, floors, brake[i])
        body.target, found[i] = goal, (held, law, v, w)
        if not law:
            body.velocity = v * cmath.exp(1j * (body.yaw + w * scene.dt))
    return found


def cheapest(
    scene: Scene, i: int, know: evasion.Choice, leaves: bool, floors: list[Floor], brake: tuple[float, float]
) -> tuple[bool, float, float, Floor]:
    body, dt = scene.bodies[i], scene.dt
    way = body.target - body.at
    by_law = floor_of(body, min(body.speed, body.v + body.accel * dt), 0.0, dt)
    if abs(by_law[1] - by_law[0]) > abs(way):
        by_law = (by_law[0], body.target, by_law[2])
    if not know.in_line[i]:
        by_law = floor_of(body, *brake, dt)
    elif body.v == 0.0 and abs(turned(cmath.phase(way) - body.yaw)) > 1e-9:
        by_law = (body.at, body.at, 0.0)
    cost, hit = drive(scene, i, *WAYS[0])
    if know.in_line[i] and hit == math.inf and not leaves and is_clear(scene, i, by_law, floors, True):
        return True, 0.0, 0.0, by_law
    costs = [math.inf if leaves else cost, *(drive(scene, i, *each)[0] for each in WAYS[1:])]
    for k in np.argsort(costs, kind="stable").tolist():
        kind, offset, share = WAYS[k]
        if k == 0:
            if not leaves and is_clear(scene, i, by_law, floors, True):
                return True, 0.0, 0.0, by_law
            continue
        speed = fast_enough(body, share, abs(way), dt)
        v, w = speeds_after(body, kind, cmath.phase(way) + offset, speed, body.yaw, body.v, body.w, dt)
        if is_clear(scene, i, own := floor_of(body, v, w, dt), floors, False):
            return False, v, w, own
    return False, *brake, floor_of(body, *brake, dt)
