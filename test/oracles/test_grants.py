"""The rule by which nodes are granted (docs/traffic.md), model-checked: all orders of events in all short plans."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise, product
from typing import NamedTuple

import pytest

SIDE, ROBOTS = 3, 4
Places = tuple[int, ...]
State = tuple[int, ...]
"""Of each robot: 3 k, it stands on node k of its way; 3 k + 1, it was granted the next; 3 k + 2, it is clear of k."""


def neighbours(node: int) -> list[int]:
    row, column = divmod(node, SIDE)
    near = [(row, column), (row, column + 1), (row + 1, column), (row, column - 1), (row - 1, column)]
    return [up * SIDE + right for up, right in near if 0 <= up < SIDE and 0 <= right < SIDE]


PAIRS = tuple(combinations(range(ROBOTS), 2))


@cache
def moves(places: Places) -> list[Places]:
    """Return where robots may all be a step later: no two at one node, and no two that swap."""
    return [
        new
        for new in product(*map(neighbours, places))
        if len(set(new)) == ROBOTS
        and not any(new[one] == places[other] and new[other] == places[one] for one, other in PAIRS)
    ]


def starts() -> list[Places]:
    """Return all sets of nodes, but for those that are others turned or mirrored."""
    found = list[Places]()
    for start in combinations(range(SIDE * SIDE), ROBOTS):
        cells = [divmod(node, SIDE) for node in start]
        looks = set[Places]()
        for _ in range(4):
            cells = [(column, SIDE - 1 - row) for row, column in cells]
            for shown in (cells, [(column, row) for row, column in cells]):
                looks.add(tuple(sorted(row * SIDE + column for row, column in shown)))
        if not looks & set(found):
            found.append(start)
    return found


class Model(NamedTuple):
    """What decides a plan: ends of ways, who needs which states of others, who may not be where, and rotations.

    `needs[robot][k]` are (other, state) that the other must have reached before the robot is granted node k + 1.
    `shared[pair]` are states of two robots that hold one node. A rotation has robots, and states in which all stand.
    """

    ends: State
    needs: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]
    shared: tuple[frozenset[tuple[int, int]], ...]
    rotations: tuple[tuple[Places, State], ...]


def held(way: list[int], state: int) -> set[int]:
    place, kind = divmod(state, 3)
    return {way[place]} if kind == 0 else {way[place], way[place + 1]} if kind == 1 else {way[place + 1]}


def model_of(plan: list[Places]) -> Model:
    ways = [[node] for node in plan[0]]
    visits: list[list[tuple[int, int]]] = [[] for _ in range(SIDE * SIDE)]
    for robot, node in enumerate(plan[0]):
        visits[node].append((robot, 0))
    rotations: list[tuple[Places, State]] = []
    needs: list[list[dict[int, int]]] = [[] for _ in plan[0]]
    for before, after in pairwise(plan):
        movers = [robot for robot in range(ROBOTS) if before[robot] != after[robot]]
        for robot in movers:
            ring = [robot]
            while (after[ring[-1]] in before) and (follows := before.index(after[ring[-1]])) in movers:
                if follows == robot:
                    if robot == min(ring):
                        rotations.append((tuple(ring), tuple(3 * (len(ways[one]) - 1) for one in ring)))
                    break
                if follows in ring:
                    break
                ring.append(follows)
        for robot in movers:
            # The use of a node ends when its robot is clear of it.
            needs[robot].append({other: 3 * place + 2 for other, place in visits[after[robot]] if other != robot})
        for robot in movers:
            visits[after[robot]].append((robot, len(ways[robot])))
            ways[robot].append(after[robot])
    ends = tuple(3 * (len(way) - 1) for way in ways)
    shared = [
        frozenset(
            (a, b)
            for a, b in product(range(ends[one] + 1), range(ends[other] + 1))
            if held(ways[one], a) & held(ways[other], b)
        )
        for one, other in PAIRS
    ]
    sorted_needs = tuple(tuple(tuple(sorted(need.items())) for need in own) for own in needs)
    return Model(ends, sorted_needs, tuple(shared), tuple(rotations))


def after(model: Model, state: State, rule: str) -> Iterator[State]:
    """Yield what may come next, by `rule`: "ordered", as it is, or one of those that are worse."""
    rotations = () if rule == "apart" else model.rotations
    turning = {one for ring, at in rotations for one, own in zip(ring, at, strict=True) if state[one] == own}
    for robot, own in enumerate(state):
        place, kind = divmod(own, 3)
        if kind == 0:
            if own == model.ends[robot] or robot in turning:
                continue
            needs = model.needs[robot][place]
            if rule == "first come":
                # Whoever finds the node free at present takes it.
                trial = (*state[:robot], own + 1, *state[robot + 1 :])
                if touching(model, trial):
                    continue
            elif not all(state[other] >= need - (rule == "early") for other, need in needs):
                continue
        yield (*state[:robot], own + 1, *state[robot + 1 :])
    for ring, at in rotations:
        if all(state[one] == own for one, own in zip(ring, at, strict=True)):
            # In lockstep: they are all there at once.
            yield tuple(own + 3 if robot in ring else own for robot, own in enumerate(state))


def touching(model: Model, state: State) -> bool:
    return any((state[one], state[other]) in model.shared[pair] for pair, (one, other) in enumerate(PAIRS))


def faults_of(model: Model, rule: str) -> set[str]:
    """Return whether two ever hold one node ("touch"), and whether robots wait for ever ("lock")."""
    begin: State = (0,) * ROBOTS
    seen, ahead, found = {begin}, [begin], set[str]()
    while ahead:
        state = ahead.pop()
        following = list(after(model, state, rule))
        if touching(model, state):
            found.add("touch")
        if not following and state != model.ends:
            found.add("lock")
        ahead += [new for new in following if new not in seen]
        seen.update(following)
    return found


def models(share: int) -> set[Model]:
    """Return the models of all sound plans of two moves each, or of one in `share` of them."""
    plans = ([start, middle, end] for start in starts() for middle in moves(start) for end in moves(middle))
    return {model_of(plan) for number, plan in enumerate(plans) if number % share == 0}


def found_in(chosen: set[Model], rule: str) -> set[str]:
    return set[str]().union(*(faults_of(model, rule) for model in chosen))


def test_by_the_rule_no_plan_touches_or_locks_and_by_worse_rules_some_do() -> None:
    chosen = models(211)
    assert len(chosen) > 300 and any(model.rotations for model in chosen)
    assert found_in(chosen, "ordered") == set()
    # The model sees what it is there for.
    assert found_in(chosen, "early") == {"touch"}
    assert found_in(chosen, "apart") == {"lock"}
    assert found_in(chosen, "first come") == {"lock"}


@pytest.mark.slow
def test_by_the_rule_no_plan_of_four_robots_on_nine_nodes_touches_or_locks() -> None:
    assert found_in(models(1), "ordered") == set()
