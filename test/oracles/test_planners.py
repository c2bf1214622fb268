"""PIBT, step by step as its papers have it: by recursion, on grids and on lanes that claim crossings."""

from __future__ import annotations

from typing import Any

import networks
import numpy as np
import pytest
from networks import claims_of, costs_by_roads, dijkstra, ends_of
from oracle_rows import holds

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner
from fleet_sim.warehouse.traffic.planners.pibt_step import queueing

MASK = (1 << 64) - 1
INFINITE = 1 << 40


def chance(key: int, robot: int, node: int) -> int:
    """19 bits by chance: SplitMix64 of a sum of multiples."""
    word = (key * 0x9E3779B97F4A7C15 + robot * 0xBF58476D1CE4E5B9 + node * 0x94D049BB133111EB) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word >> 45


class PaperStep:
    """One step of PIBT by recursion, with swaps at places where three ways meet; see the papers of Okumura."""

    def __init__(self, problem: Problem, away: list[list[int]], now: list[int], rotations: bool, swaps: bool) -> None:
        self.problem, self.away, self.now, self.rotations, self.swaps = problem, away, now, rotations, swaps
        self.ends = ends_of(problem.network)
        self.claims = claims_of(problem.network)
        self.at = {node: robot for robot, node in enumerate(now)}
        self.then: dict[int, int] = {}
        self.holder: dict[int, int] = {}
        self.asking: set[int] = set()

    def shut(self, robot: int, node: int) -> bool:
        problem = self.problem
        barred = problem.barred[node] and problem.wide[robot] and node != problem.goals[robot]
        return bool(problem.blocked[node] or barred)

    def plan(self, robot: int, key: int) -> bool:
        """Plan a robot and all that must give way to it; False: it has to stay where it is."""
        begin, away = self.now[robot], self.away[robot]

        def rank(node: int) -> tuple[int, bool, int]:
            taken = node != begin and node in self.at and not self.swaps
            return (away[node] if away[node] >= 0 else INFINITE, taken, chance(key, robot, node))

        choices = sorted([*self.ends[begin], begin], key=rank)
        partner = self.partner(robot, choices[0]) if self.swaps else None
        self.asking.add(robot)
        for number, node in enumerate(choices if partner is None else choices[::-1]):
            needs = [node, *self.claims.get((begin, node), ())]
            if (node != begin and self.shut(robot, node)) or not self.may_take(robot, needs):
                continue
            self.then[robot] = node
            self.holder.update(dict.fromkeys(needs, robot))
            if all(self.plan(self.at[need], key) for need in needs if self.is_asked(robot, need)):
                if partner is not None and number == 0:
                    self.pull(partner, begin)
                self.asking.discard(robot)
                return True
            del self.then[robot]
            self.holder = {need: other for need, other in self.holder.items() if other != robot}
        self.then[robot], self.holder[begin] = begin, robot
        self.asking.discard(robot)
        return False

    def is_asked(self, robot: int, need: int) -> bool:
        """Whether somebody without a plan stands there."""
        return self.at.get(need, robot) != robot and self.at[need] not in self.then

    def may_take(self, robot: int, needs: list[int]) -> bool:
        """Whether nobody holds them, and who leaves them does not come here, or wait for this robot in a circle."""
        for need in needs:
            other = self.at.get(need, robot)
            if need in self.holder:
                return False
            if other != robot and other in self.then:
                circle = other in self.asking and not (self.rotations and need == needs[0])
                if circle or self.holder.get(self.now[robot]) == other:
                    return False
        return True

    def pull(self, partner: int, place: int) -> None:
        free = partner not in self.then and place not in self.holder and not self.shut(partner, place)
        if free and place in self.ends[self.now[partner]]:
            self.then[partner], self.holder[place] = place, partner

    def partner(self, robot: int, first: int) -> int | None:
        begin = self.now[robot]
        if first == begin or not self.can_swap(first, begin):
            return None
        ahead = self.at.get(first)
        if ahead is not None and ahead not in self.then and self.must_swap(robot, ahead, begin, first):
            return ahead
        beside = [self.at[node] for node in self.ends[begin] if node != first and node in self.at]
        return next((other for other in beside if self.must_swap(other, robot, begin, first)), None)

    def onward(self, node: int, behind: int) -> list[int]:
        """Where ways lead on, but not into dead ends in which somebody is at its goal."""

        def is_closed(end: int) -> bool:
            return end in self.at and self.away[self.at[end]][end] == 0 and len(self.ends[end]) == 1

        return [end for end in self.ends[node] if end != behind and not is_closed(end)]

    def must_swap(self, pusher: int, puller: int, behind: int, ahead: int) -> bool:
        push, pull = self.away[pusher], self.away[puller]
        for _ in range(len(self.ends)):
            ways = self.onward(ahead, behind) if push[ahead] < push[behind] else []
            if len(ways) > 1:
                return False
            if not ways:
                break
            behind, ahead = ahead, ways[0]
        return pull[behind] < pull[ahead] and (push[behind] == 0 or push[ahead] < push[behind])

    def can_swap(self, behind: int, ahead: int) -> bool:
        first = behind
        for _ in range(len(self.ends)):
            ways = self.onward(ahead, behind) if ahead != first else []
            if len(ways) != 1:
                return len(ways) > 1
            behind, ahead = ahead, ways[0]
        return False


def by_the_paper(
    problem: Problem, away: list[list[int]], waited: list[int], key: int, rotations: bool, swaps: bool
) -> list[list[int]]:
    """The nodes of all robots after each step of a window, or until all are at their goals."""
    now, goals = problem.starts.tolist(), problem.goals.tolist()
    found = [now]
    while len(found) <= problem.window if problem.window else (now != goals and len(found) < 300):
        hurry = [bool(wide) and node != goal for wide, node, goal in zip(problem.wide, now, goals, strict=True)]
        luck = [0.5 * chance(0, robot, 0) / 2**19 for robot in range(len(now))]
        step = PaperStep(problem, away, now, rotations, swaps)
        for robot in sorted(range(len(now)), key=lambda one: (not hurry[one], luck[one] - waited[one])):
            if robot not in step.then:
                step.plan(robot, key + len(found) - 1)
        now = [step.then[robot] for robot in range(len(now))]
        waited = [0 if node == goal else time + 1 for node, goal, time in zip(now, goals, waited, strict=True)]
        found.append(now)
    return found if len(found) > 1 else [now, now]


def scene(seed: int) -> tuple[Network, dict[str, Any], np.random.Generator]:
    """A network with robots, some of them wide, on nodes of which some are blocked or barred."""
    random = np.random.default_rng(seed)
    if seed % 5 == 4:
        points = [(5, 10), (15, 10), (10, 5), (10, 15), (7, 10.5), (7, 13), (20, 10), (20, 20), (10, 20), (5, 20)]
        pairs = [(0, 1), (2, 3), (4, 5), (1, 6), (6, 7), (7, 8), (3, 8), (8, 9), (0, 9), (5, 9), (0, 3), (9, 1)]
        network = networks.roadmap_network(points, [lane for a, b in pairs for lane in ((a, b), (b, a))])
    else:
        network = networks.random_network(random, int(random.integers(2, 8)), int(random.integers(2, 10)), 0.75)
    count, to_end = len(network), seed % 3 == 0
    robots = max(1, int(count * random.uniform(0.2, 0.7 if to_end else 0.95)))
    starts, goals = networks.random_places(random, network, robots)
    shares = (0.0, 0.0, 0.0) if to_end else (0.06, 0.2, 0.3)
    blocked, barred, wide = (
        random.random(size) < share for size, share in zip((count, count, robots), shares, strict=True)
    )
    where = {"goals": goals, "blocked": blocked, "barred": barred, "wide": wide, "window": 0 if to_end else 7}
    return network, {"starts": starts, **where}, random


@holds("api:make_planner", fault="warehouse/traffic/planners/pibt_step.py: chance is of the robot alone")
@pytest.mark.parametrize("seed", range(40))
def test_steps_of_pibt_are_those_of_the_paper(seed: int) -> None:
    network, values, random = scene(seed)
    to_end, rotations = not values["window"], bool(seed % 2) and not network.claims
    against = 1 if to_end or seed % 4 == 1 or network.grid is None else 3
    costs = costs_by_roads(network, against) if against > 1 else None
    planner = make_planner("pibt", network, allow_rotations=rotations, against=against, most_steps=299)
    ids, waited, planned = np.arange(len(values["starts"])) * 3 + 5, dict[int, int](), 0
    for _ in range(1 if to_end else 3):
        away = []
        goals = values["goals"] = values["goals"].copy()
        for robot, start in enumerate(values["starts"].tolist()):
            shut = values["blocked"] | (values["barred"] & bool(values["wide"][robot]))
            # Goals to which no way leads are refused, so they stay where they are.
            for goal in (int(goals[robot]), start):
                open_goal = np.where(np.arange(len(network)) == goal, values["blocked"], shut)
                found = dijkstra(network, goal, open_goal, costs)
                if found[start] >= 0:
                    break
            goals[robot] = goal
            away.append(found)
        problem = Problem(network, **values, seed=seed + 3, ids=ids)
        waits = [
            0 if start == goal else waited.get(one, 0) + 1
            for one, start, goal in zip(ids.tolist(), problem.starts, goals, strict=True)
        ]
        waited = dict(zip(ids.tolist(), waits, strict=True))
        expected = np.array(
            by_the_paper(problem, away, waits, problem.seed + planned, rotations, to_end and not network.claims)
        ).T
        if to_end and expected[:, -1].tolist() != goals.tolist():
            with pytest.raises(PlanError, match="in 299 steps"):
                planner.plan(problem)
            return
        assert checked_plan(planner, problem).tolist() == expected.tolist()
        # Some of a window is driven; then they come in another order, and some have other goals.
        planned += problem.window
        order = random.permutation(len(ids))
        ids, values["wide"] = ids[order], values["wide"][order]
        values["starts"] = expected[order, 3 if problem.window else -1]
        values["goals"] = np.where(
            random.random(len(ids)) < 0.8, goals[order], random.permutation(len(network))[: len(ids)]
        )


def test_those_wait_who_are_not_among_the_first_on_their_way_to_one_goal() -> None:
    random = np.random.default_rng(2)
    for _ in range(60):
        goals, away, waited = random.integers(0, 4, 15), random.integers(0, 9, 15), random.integers(0, 30, 15)
        most = int(random.integers(1, 4))
        for robot, waits in enumerate(queueing(goals, away, waited, most).tolist()):
            score = away - waited
            rivals = [
                other
                for other in range(15)
                if goals[other] == goals[robot] and away[other] > 0 and (score[other], other) < (score[robot], robot)
            ]
            assert waits == (away[robot] > 0 and len(rivals) >= most)


def lane_fault(network: Network, paths: Ints) -> str:
    """At which step a plan on lanes cannot be driven: two need one thing, or wait for each other in a circle."""
    claims, ends = claims_of(network), ends_of(network)
    for step in range(1, paths.shape[1]):
        needs: list[set[int]] = []
        at = {int(path[step - 1]): robot for robot, path in enumerate(paths)}
        for begin, end in paths[:, step - 1 : step + 1].tolist():
            if begin != end and end not in ends[begin]:
                return f"at step {step}, which are not neighbours"
            needs.append({end, *claims.get((begin, end), ())})
        if sum(map(len, needs)) > len(set().union(*needs)):
            return f"at step {step}"
        waits = [{at[need] for need in own if at.get(need, robot) != robot} for robot, own in enumerate(needs)]
        free: set[int] = set()
        while more := {robot for robot in range(len(paths)) if robot not in free and waits[robot] <= free}:
            free |= more
        if len(free) < len(paths):
            return f"at step {step}"
    return ""


@holds("api:check_paths", fault="warehouse/traffic/problem.py: who stands on what a move claims is in nobody's way")
def test_plans_on_lanes_are_refused_at_the_step_at_which_they_cannot_be_driven() -> None:
    network, _, random = scene(4)
    seen = {True: 0, False: 0}
    for _ in range(1200):
        paths = np.zeros((3, 4), np.int64)
        paths[:, 0] = random.permutation(len(network))[:3]
        for step in range(1, 4):
            for robot, before in enumerate(paths[:, step - 1].tolist()):
                near = [before, *ends_of(network)[before]]
                paths[robot, step] = random.integers(len(network)) if random.random() < 0.02 else random.choice(near)
        fault = lane_fault(network, paths)
        seen[not fault] += 1
        problem = Problem(network, paths[:, 0], paths[:, -1])
        if fault:
            with pytest.raises(PlanError, match=fault):
                check_paths(problem, paths)
        else:
            assert check_paths(problem, paths).tolist() == paths.tolist()
    assert min(seen.values()) > 100
