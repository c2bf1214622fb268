"""How robots drive a plan: who may enter what when, and each speed and turn, against the law written down plainly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hand_made import Runs, lattice
from oracle_rows import holds

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.traffic.driving import Limits
from fleet_sim.warehouse.traffic.network import Claims, Network

ROBOTS, WIDTH, HEIGHT, PITCH, ROOM = 8, 5, 4, (0.9, 1.3), 0.7
BACKWARD, EITHER = 1, 2


def shared(random: np.random.Generator) -> tuple[Network, list[list[int]]]:
    """A lattice of unequal sides, whose lanes each claim something of their own, and some the same as another one.

    So nobody follows anybody into a node that is not left yet.
    """
    free = lattice(WIDTH, HEIGHT)
    lanes = free.neighbours.size
    ids = [[len(free) + lane] for lane in range(lanes)]
    for one, other in random.choice(lanes, (12, 2), replace=False).tolist():
        ids[one].append(len(free) + lanes + other)
        ids[other].append(len(free) + lanes + other)
    begins = np.concatenate(([0], np.cumsum([len(own) for own in ids])))
    claims = Claims(begins, np.concatenate(ids))
    return Network(free.positions * PITCH, free.neighbours, claims=claims), ids


def plan(network: Network, ids: list[list[int]], random: np.random.Generator) -> Ints:
    """Paths at random that use nothing twice in a step; robots come to what others have left in it before."""
    paths = [random.permutation(len(network))[:ROBOTS]]
    for _ in range(12):
        now, after, used = paths[-1], paths[-1].copy(), set(paths[-1].tolist())
        for robot in random.permutation(ROBOTS).tolist():
            slot = int(random.integers(4))
            end, needs = int(network.neighbours[now[robot], slot]), ids[4 * now[robot] + slot]
            # Never straight back: a half turn may go either way round.
            back = end in {int(path[robot]) for path in paths}
            if end >= 0 and not back and not used & {end, *needs}:
                after[robot] = end
                used = (used - {int(now[robot])}) | {end, *needs}
        paths.append(after)
    return np.stack(paths, axis=1)


def next_speed(speed: float, way: float, at_end: float, limit: float, accel: float, dt: float) -> float:
    """The highest speed from which a robot has slowed down to `at_end` at the end of its way."""
    root = (0.5 * accel * dt) ** 2 + 2.0 * accel * (way - 0.5 * dt * speed) + at_end**2
    highest = -0.5 * accel * dt + math.sqrt(root) if root > 0.0 else 0.0
    return max(min(highest, limit, speed + accel * dt), speed - accel * dt, 0.0)


def ends_now(speed: float, way: float, limit: float, accel: float, dt: float) -> bool:
    """Whether it comes to rest at the end within a step: it speeds up and brakes, or only brakes."""
    peak = 0.5 * (accel * dt + speed)
    most = (2.0 * peak * peak - speed * speed) / (2.0 * accel)
    return speed <= accel * dt * (1.0 + 1e-9) and way <= min(most, limit * dt) + 1e-12


class Reference:
    """The robots of a run, one after the other."""

    def __init__(self, runs: Runs, network: Network, ids: list[list[int]], paths: Ints) -> None:
        self.runs, self.network, self.dt = runs, network, runs.dt
        self.ways = [[int(path[0])] for path in paths]
        self.claims: list[list[list[int]]] = [[[]] for _ in paths]
        # In the order of the plan: who uses what; by robot and place in its way.
        self.uses: dict[int, list[tuple[int, int]]] = {int(path[0]): [(robot, 0)] for robot, path in enumerate(paths)}
        for step in range(1, paths.shape[1]):
            for robot, (begin, end) in enumerate(paths[:, step - 1 : step + 1].tolist()):
                if begin != end:
                    slot = network.neighbours[begin].tolist().index(end)
                    self.ways[robot].append(end)
                    self.claims[robot].append(ids[4 * begin + slot])
                    for need in (end, *self.claims[robot][-1]):
                        self.uses.setdefault(need, []).append((robot, len(self.ways[robot]) - 1))
        self.ended: set[tuple[int, int, int]] = set()
        self.at, self.granted, self.left = [0] * ROBOTS, [0] * ROBOTS, [-1] * ROBOTS
        self.way, self.speed, self.spin = ([0.0] * ROBOTS for _ in range(3))
        self.yaw = runs.table.yaw[:ROBOTS].tolist()
        self.back, self.arrived = [False] * ROBOTS, [False] * ROBOTS

    def lane(self, robot: int, place: int) -> tuple[float, float, float]:
        """Length, direction and speed limit of the lane to a place of a way."""
        begin, end = self.ways[robot][place - 1 : place + 1]
        (ax, ay), (bx, by) = self.network.positions[[begin, end]].tolist()
        slot = self.network.neighbours[begin].tolist().index(end)
        return (
            math.dist((ax, ay), (bx, by)),
            math.atan2(by - ay, bx - ax),
            float(self.runs.tracks.limits[4 * begin + slot]),
        )

    def bends(self, robot: int, place: int) -> bool:
        """Whether it has to stop at a place, as its way goes on in another direction."""
        if not 0 < place < len(self.ways[robot]) - 1:
            return False
        turn = self.lane(robot, place + 1)[1] - self.lane(robot, place)[1]
        return abs(math.remainder(turn, math.tau)) > 1e-6

    def stops(self, robot: int, place: int) -> bool:
        """Whether it stops at a place in any case, once it is on its way there."""
        is_goal = self.ways[robot][place] == self.runs.table.goal[robot] and not self.arrived[robot]
        return is_goal or self.bends(robot, place)

    def may_enter(self, robot: int, place: int) -> bool:
        table, node = self.runs.table, self.ways[robot][place]
        barred = self.runs.barred[node] and table.wide[robot] and table.goal[robot] != node
        if not self.runs.open_mask[node] or barred:
            return False
        for need in (node, *self.claims[robot][place]):
            uses = self.uses[need]
            before = uses[: uses.index((robot, place))]
            if any(other != robot and (need, other, at) not in self.ended for other, at in before):
                return False
        return True

    def step(self) -> None:
        table, limits = self.runs.table, self.runs.limits
        turned = []
        for robot in range(ROBOTS):
            axes = slice(0, 1) if table.turns[robot] else slice(0, 2)
            top = min(limits.linear_limit[robot], *limits.linear_limits[robot, axes]) * table.pace[robot]
            accel = min(limits.linear_accel[robot], *limits.linear_accels[robot, axes])
            self.grant(robot, top, accel)
            turned.append(self.turn(robot))
            if not turned[-1] and self.at[robot] < self.granted[robot]:
                self.drive(robot, top, accel, bool(table.held[robot]))
        for robot, way in enumerate(self.ways):
            place = self.at[robot]
            # A node is left when the next one is reached, or when a robot has gone as far as they stay apart.
            gone = place < len(way) - 1 and self.way[robot] >= min(ROOM, self.lane(robot, place + 1)[0])
            stands = self.is_there(robot) and self.speed[robot] == self.way[robot] == self.spin[robot] == 0.0
            heading = table.heading[robot]
            looks = math.isnan(heading) or abs(math.remainder(heading - self.yaw[robot], math.tau)) < 1e-9
            self.arrived[robot] |= bool(stands and looks)
            for passed in range(place + gone):
                self.ended.add((way[passed], robot, passed))
            for passed in range(1, place + 1):
                self.ended.update((need, robot, passed) for need in self.claims[robot][passed])

    def grant(self, robot: int, top: float, accel: float) -> None:
        """As far as it could not stop before, if it drove as fast as it can in this step."""
        if self.runs.table.held[robot]:
            return
        speed = self.speed[robot]
        fastest = max(min(speed + accel * self.dt, top), speed - accel * self.dt)
        needed = 0.5 * self.dt * (speed + fastest) + fastest**2 / (2.0 * accel)
        while self.granted[robot] < len(self.ways[robot]) - 1:
            place = self.granted[robot]
            ahead = sum(self.lane(robot, one)[0] for one in range(self.at[robot] + 1, place + 1)) - self.way[robot]
            stops = any(self.stops(robot, one) for one in range(self.at[robot] + 1, place + 1))
            if ahead > needed or stops or not self.may_enter(robot, place + 1):
                return
            self.granted[robot] += 1

    def turn(self, robot: int) -> bool:
        table, limits, place = self.runs.table, self.runs.limits, self.at[robot] + 1
        if self.speed[robot] or self.way[robot]:
            return False
        accel = min(limits.angular_accel[robot], limits.angular_accels[robot, 2])
        limit = min(limits.angular_limit[robot], limits.angular_limits[robot, 2])
        spin, yaw = self.spin[robot], self.yaw[robot]
        onward, is_there = place < len(self.ways[robot]) and table.turns[robot], self.is_there(robot)
        wanted = self.lane(robot, place)[1] if onward else table.heading[robot] if is_there else math.nan
        if table.held[robot] or math.isnan(wanted):
            self.spin[robot] = math.copysign(max(abs(spin) - accel * self.dt, 0.0), spin)
            self.yaw[robot] += 0.5 * self.dt * (spin + self.spin[robot])
            return spin != 0.0
        error = math.remainder(wanted - yaw, math.tau)
        if spin == 0.0:
            lead = table.lead[robot]
            backward = lead == BACKWARD or (lead == EITHER and abs(error) > 0.5 * math.pi + 1e-9)
            self.back[robot] = onward and backward
        if self.back[robot]:
            error = math.remainder(wanted + math.pi - yaw, math.tau)
        if spin == 0.0 and abs(error) < 1e-9:
            return False
        sign = 1.0 if error >= 0.0 else -1.0
        if sign * spin >= 0.0 and ends_now(sign * spin, abs(error), limit, accel, self.dt):
            self.yaw[robot], self.spin[robot] = yaw + error, 0.0
            return True
        speed = sign * spin
        faster = next_speed(speed, abs(error), 0.0, limit, accel, self.dt) if speed >= 0.0 else speed + accel * self.dt
        self.spin[robot] = sign * faster
        self.yaw[robot] += 0.5 * self.dt * (spin + self.spin[robot])
        return True

    def is_there(self, robot: int) -> bool:
        return bool(self.ways[robot][self.at[robot]] == self.runs.table.goal[robot])

    def drive(self, robot: int, top: float, accel: float, held: bool) -> None:
        dt, speed, stop = self.dt, self.speed[robot], self.at[robot] + 1
        length, _, limit = self.lane(robot, stop)
        way, limit = length - self.way[robot], min(top, limit)
        fast = max(speed - accel * dt, 0.0) if held else min(limit, speed + accel * dt)
        while stop < self.granted[robot] and not self.stops(robot, stop):
            length, _, slower = self.lane(robot, stop + 1)
            fast = min(fast, next_speed(speed, way, slower, math.inf, accel, dt)) if slower < math.inf else fast
            way, stop = way + length, stop + 1
        fast = max(min(fast, next_speed(speed, way, 0.0, limit, accel, dt)), speed - accel * dt)
        distance = 0.5 * dt * (speed + fast)
        # Who is held brakes as hard as it can, and may come to the end within the step.
        if distance >= way if held else ends_now(speed, way, limit, accel, dt):
            self.at[robot], self.way[robot], self.speed[robot] = stop, 0.0, 0.0
            return
        self.speed[robot] = fast
        self.way[robot] += distance
        while self.at[robot] + 1 < stop and self.way[robot] >= self.lane(robot, self.at[robot] + 1)[0]:
            self.at[robot] += 1
            self.way[robot] -= self.lane(robot, self.at[robot])[0]

    def place(self, robot: int) -> np.ndarray:
        begin = self.network.positions[self.ways[robot][self.at[robot]]]
        if not self.way[robot]:
            return np.asarray(begin)
        _, direction, _ = self.lane(robot, self.at[robot] + 1)
        return np.asarray(begin + self.way[robot] * np.array((math.cos(direction), math.sin(direction))))


@holds(
    *("api:Agent.velocity", "api:Agent.angular_velocity"),
    fault="warehouse/traffic/driving.py: a node counts as left when its next one is reached; limits hold a lane late",
)
@pytest.mark.parametrize("seed", range(6))
def test_robots_drive_plans_as_the_law_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    network, ids = shared(random)
    paths = plan(network, ids, random)
    runs = Runs(network, paths[:, 0], radius=0.5 * ROOM, dt=(0.07, 0.21)[seed % 2])
    limits = [random.uniform(low, high, (ROBOTS, 3)) for low, high in ((0.4, 2.5), (0.5, 3.0), (0.8, 2.5), (1.0, 6.0))]
    norms = [random.uniform(low, high, ROBOTS) for low, high in ((0.4, 2.5), (0.5, 3.0), (0.8, 2.5), (1.0, 6.0))]
    runs.limits = Limits(*(array for pair in zip(norms, limits, strict=True) for array in pair))
    runs.tracks.limits[:] = np.where(random.random(network.neighbours.size) < 0.3, 0.45, np.inf)
    table = runs.table
    table.turns[:], table.wide[:] = random.random(ROBOTS) < 0.7, random.random(ROBOTS) < 0.3
    table.pace[:], table.lead[:] = random.choice([1.0, 0.6], ROBOTS), random.integers(0, 3, ROBOTS)
    table.yaw[:] = np.where(table.turns, random.uniform(-3.0, 3.0, ROBOTS), 0.0)
    table.goal[:] = [random.choice(path[path != path[0]]) if len(set(path)) > 1 else path[0] for path in paths]
    table.heading[:] = np.where(random.random(ROBOTS) < 0.5, random.uniform(-3.0, 3.0, ROBOTS), np.nan)
    runs.append(paths)
    reference = Reference(runs, network, ids, paths)
    for step in range(600):
        if step % 20 == 0:
            # For a while robots are held, nodes closed, and others open to narrow robots only.
            often = 0.15 * (step < 300)
            table.held[:] = random.random(ROBOTS) < often
            runs.open_mask[:], runs.barred[:] = random.random((2, len(network))) >= [[0.7 * often], [1.0 - often]]
        runs.step()
        reference.step()
        expected = np.array([reference.place(robot) for robot in range(ROBOTS)])
        assert table.place[:ROBOTS] == pytest.approx(expected, abs=1e-8), step
        assert table.speed[:ROBOTS] == pytest.approx(reference.speed, abs=1e-8)
        assert table.spin[:ROBOTS] == pytest.approx(reference.spin, abs=1e-8)
        assert table.arrived[:ROBOTS].tolist() == reference.arrived
        off = np.array(
            [math.remainder(one - other, math.tau) for one, other in zip(table.yaw, reference.yaw, strict=True)]
        )
        assert np.abs(off).max() < 1e-8
    driven = [
        sum(reference.lane(robot, place)[0] for place in range(1, len(way))) for robot, way in enumerate(reference.ways)
    ]
    assert reference.at == [len(way) - 1 for way in reference.ways]
    assert sum(reference.arrived) > 2
    assert table.driven[:ROBOTS] == pytest.approx(driven)
    assert sum(map(len, reference.ways)) > ROBOTS + 20
