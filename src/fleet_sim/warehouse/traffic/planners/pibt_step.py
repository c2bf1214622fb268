"""Steps of PIBT for all robots, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.base.kernels import compiled, compiled_step, inlined
from fleet_sim.base.registry import saved
from fleet_sim.warehouse.traffic.network import Links, Network, Steps
from fleet_sim.warehouse.traffic.planners.guides import Columns
from fleet_sim.warehouse.traffic.problem import BLOCKED, EVERYWHERE, OPEN, Holds, Problem, are_in_order, holds_of, mark

# Who must change places with whom in a corridor, where pushing alone would lead to nothing; compiled. Two robots that
# want past each other in a corridor drive on, one pulling the other, to where three ways meet, and change places
# there (Okumura, 2023, on LaCAM's second version).


NOBODY = -1


@compiled_step
def find_partner(
    links: Links, now: Ints, then: Ints, standing: Links, steps: Steps, rows: Ints, robot: int, first: int
) -> int:
    """Return the robot that `robot`, which would go to node `first`, must pull along instead; NOBODY for none."""
    begin = now[robot]
    if first != begin:
        ahead = standing[first]
        if (
            ahead >= 0
            and then[ahead] == NOBODY
            and _is_needed(links, standing, steps, rows, robot, ahead, begin, first)
            and _is_possible(links, standing, steps, rows, first, begin)
        ):
            return ahead
    # Somebody beside it may want through here, and would push it into a corridor from which it must come back.
    for column in range(links.shape[1]):
        node = links[begin, column]
        if node < 0 or node == first:
            continue
        beside = standing[node]
        if (
            beside >= 0
            and first != begin
            and _is_needed(links, standing, steps, rows, beside, robot, begin, first)
            and _is_possible(links, standing, steps, rows, first, begin)
        ):
            return beside
    return NOBODY


@compiled_step
def _is_needed(
    links: Links, standing: Links, steps: Steps, rows: Ints, pusher: int, puller: int, behind: int, ahead: int
) -> bool:
    """Return whether `pusher` at `behind` pushes `puller` at `ahead` through a corridor in which it must not stay."""
    push, pull = steps[rows[pusher]], steps[rows[puller]]
    for _ in range(len(links)):
        if push[ahead] >= push[behind]:
            break
        ways, onward = _ways_on(links, standing, steps, rows, ahead, behind)
        if ways >= 2:
            return False
        if ways == 0:
            break
        behind, ahead = ahead, onward
    return pull[behind] < pull[ahead] and (push[behind] == 0 or push[ahead] < push[behind])


@compiled_step
def _is_possible(links: Links, standing: Links, steps: Steps, rows: Ints, first: int, begin: int) -> bool:
    """Return whether a robot that backs from `begin`, away from `first`, comes to where three ways meet."""
    behind, ahead = first, begin
    for _ in range(len(links)):
        if ahead == first:
            return False
        ways, onward = _ways_on(links, standing, steps, rows, ahead, behind)
        if ways >= 2:
            return True
        if ways == 0:
            return False
        behind, ahead = ahead, onward
    return False


@compiled_step
def _ways_on(links: Links, standing: Links, steps: Steps, rows: Ints, node: int, behind: int) -> tuple[int, int]:
    """Return how many ways lead on from `node`, coming from `behind`, and one of them.

    Dead ends in which a robot is at its goal do not count.
    """
    ways, onward = 0, NOBODY
    for column in range(links.shape[1]):
        end = links[node, column]
        if end < 0 or end == behind:
            continue
        robot = standing[end]
        if robot >= 0 and steps[rows[robot], end] == 0:
            leaving = 0
            for other in range(links.shape[1]):
                leaving += 1 if links[end, other] >= 0 else 0
            if leaving == 1:
                continue
        ways += 1
        onward = end
    return ways, onward


# Queues: who waits where it is, as others are before it on the way to the same goal.


OWN_PLACE = -1
"""In place of the row of distances to a goal: the robot stays where it is, or where others push it."""


def queueing(goals: Ints, away: Ints, waited: Ints, most: int) -> Bools:
    """Return which robots (R,) are on their way, but not among the `most` that come first on the way to their goals.

    They come in the order of the steps that they are `away`, less the calls that they have `waited`; so nobody waits
    for ever. Around a goal that all came to at once, those that leave it would find no way out between the others.
    """
    # Who is there gives way, and is before nobody.
    score: Floats = np.where(away > 0, np.asarray(away, np.float64) - waited, np.inf)
    order = np.lexsort((score, goals))
    sorted_goals = goals[order]
    begins = np.flatnonzero(np.concatenate(([True], sorted_goals[1:] != sorted_goals[:-1])))
    places = np.arange(len(goals)) - np.repeat(begins, np.diff(np.append(begins, len(goals))))
    waits_mask = np.zeros(len(goals), bool)
    waits_mask[order] = places >= most
    return np.asarray(waits_mask & (away > 0))


# What steps of PIBT work on, as kernels take it.


class StepArrays(NamedTuple):
    """What steps of PIBT work on: the network, who may be where, who is where, and room to work in.

    `links` are those of the network, `holds` what robots hold beside their nodes. `bars` says of each node who may
    enter it, `passes` of each robot what it may pass. `standing` has the robot on each node, `holding` the one that
    holds a node or a claim in this step, `wanted` the one that found a node in use which it needs. `remaining` is as
    `look_ahead` writes it; `choices`, `stack` and `ranks` are room.
    """

    links: Links
    holds: Holds
    bars: Bytes
    passes: Ints
    standing: Links
    holding: Links
    wanted: Links
    choices: Links
    stack: Links
    ranks: Ints
    remaining: Links


class Guidance(NamedTuple):
    """Where robots want to go: `rows` (R,) are those of `steps` to their goals, OWN_PLACE for robots that wait, and
    `guides` (R, N) the columns of the moves that they should make, if there are any."""

    steps: Steps
    rows: Ints
    guides: Columns


@compiled_step
def look_ahead(links: Links, now: Ints, steps: Steps, rows: Ints, remaining: Links) -> None:
    """Write how far from its goal each robot is after each of its moves, waiting last, to `remaining` (R, K + 1).

    For all robots before the first one is planned: each look is at another end of a large table, and many of them are
    fetched at once where none waits for what is done with another.
    """
    for robot in range(len(now)):
        begin, row = now[robot], rows[robot]
        for column in range(links.shape[1]):
            node = links[begin, column]
            if row == OWN_PLACE:
                remaining[robot, column] = 1
            elif node >= 0:
                remaining[robot, column] = steps[row, node]
        remaining[robot, links.shape[1]] = 0 if row == OWN_PLACE else steps[row, begin]


# How robots give way to each other in a step of PIBT, compiled. Recursion goes as deep as there are robots, so its
# stack is an array.


MOVED, FAILED = 0, 1
"""What became of the robot that was asked last to give way."""
NO_WAY, COLUMN_BITS = 1 << 40, 16
"""Of a node from which no way leads to the goal: still better than none for a robot that must give way. What choices
are ordered by ends with so many bits for their columns."""
TRIED, ASKED, PLACE, ON_STACK, PARTNER, AGAIN = 0, 1, 2, 3, 4, 5
"""What is kept of each robot beside its K + 1 moves in order: which move is tried, how many robots it has asked, where
it stands, whether it waits for others, who follows it, and whether it holds several nodes and was planned again."""
KEPT = 6


@inlined
def give_way(
    arrays: StepArrays,
    now: Ints,
    then: Ints,
    wishes: Guidance,
    key: np.uint64,
    allow_rotations: bool,
    swaps: bool,
    first: int,
) -> bool:
    """Plan the step of robot `first`, and of all that must give way to it.

    `then` (R,) has the next nodes, NOBODY for robots not planned yet; `holding` has who holds what in the step. Returns
    whether it moves or stays without anybody else at its node.

    A robot whose place another one wants is asked to move first; one that finds no place stays, and whoever asked it
    tries its next choice. `stack` has the robots that wait for an answer.
    """
    links, holds, bars, passes, standing, holding, wanted, choices, stack, _, _ = arrays
    width = links.shape[1] + 1
    depth, answer = 1, MOVED
    stack[0] = first
    _sort_choices(arrays, now, then, wishes, key, swaps, first)
    while depth > 0:
        robot = stack[depth - 1]
        own = choices[robot]
        if answer == FAILED:
            # Who was asked stays, so this robot goes elsewhere.
            let_go(links, holds, now[robot], then[robot], holding, robot)
            then[robot] = NOBODY
            own[width + TRIED], own[width + ASKED] = own[width + TRIED] + 1, 0
        answer = MOVED
        if then[robot] == NOBODY:
            _hold_next(arrays, now, then, allow_rotations, robot)
        if then[robot] == NOBODY:
            # Nothing is left to try: it stays, and the one that asked it has to go elsewhere.
            alone = _stay(holds, now, then, holding, own, robot)
            if len(holds.stands):
                _plan_again(links, holds, now, then, standing, holding, wanted, choices, robot)
            depth, answer = depth - 1, FAILED
            if depth == 0:
                return alone
            continue
        other = NOBODY
        # Where moves claim nothing else, only a robot on the next node can be in the way.
        if len(holds.ids) or len(holds.stands) or (standing[then[robot]] >= 0 and then[robot] != now[robot]):
            other = _next_in_the_way(links, holds, then, standing, own, robot)
        if other != NOBODY:
            # This robot stays on the stack, and goes on here when the other one has its answer.
            _sort_choices(arrays, now, then, wishes, key, swaps, other)
            stack[depth] = other
            depth += 1
            continue
        if len(holds.stands) and then[robot] == now[robot] and own[width + TRIED] > 0:
            _plan_again(links, holds, now, then, standing, holding, wanted, choices, robot)
        own[width + ON_STACK], depth = 0, depth - 1
        if own[width + PARTNER] != NOBODY:
            _pull(links, bars, passes, now, then, holding, own, robot)
    return True


@compiled_step
def _stay(holds: Holds, now: Ints, then: Ints, holding: Links, own: Links, robot: int) -> bool:
    """Let `robot` wait where it is, though another one may hold that; returns whether nobody does."""
    alone = holding[now[robot]] == NOBODY
    # Taken from the one that holds it: that one learns that this robot failed, and lets go of no more than it still
    # has.
    then[robot] = now[robot]
    mark(holds, now[robot], robot, holding)
    own[len(own) - KEPT + ON_STACK] = 0
    return alone


@compiled_step
def _plan_again(
    links: Links,
    holds: Holds,
    now: Ints,
    then: Ints,
    standing: Links,
    holding: Links,
    wanted: Links,
    choices: Links,
    robot: int,
) -> None:
    """Let robots be planned again that stay where `robot`, which holds several nodes and stays, wants to go.

    They found no room while it held all that it needs. It helps if those of single cells leave that in several steps,
    see `_leaving`; others are planned again once in a step.
    """
    column = choices[robot, 0]
    if holds.firsts[now[robot] + 1] - holds.firsts[now[robot]] < 2 or column == links.shape[1]:
        return
    node = links[now[robot], column]
    mark(holds, node, robot, wanted)
    for at in range(holds.firsts[node], holds.firsts[node + 1]):
        other = standing[holds.stands[at]]
        if other < 0 or other == robot or then[other] != now[other] or holding[now[other]] != other:
            continue
        on_stack = choices[other, choices.shape[1] - KEPT + ON_STACK] != 0
        again = choices[other, choices.shape[1] - KEPT + AGAIN] != 0
        if not on_stack and not again:
            several = holds.firsts[now[other] + 1] - holds.firsts[now[other]] >= 2
            choices[other, choices.shape[1] - KEPT + AGAIN] = several
            then[other] = NOBODY
            mark(holds, now[other], NOBODY, holding)


@compiled_step
def _is_wanted(holds: Holds, wanted: Links, node: int, robot: int) -> int:
    """Return how many of the nodes that `robot` holds at `node` another one wants."""
    found = 1 if wanted[node] != NOBODY and wanted[node] != robot else 0
    for at in range(holds.firsts[node], holds.firsts[node + 1]):
        held = wanted[holds.stands[at]]
        found += 1 if held != NOBODY and held != robot else 0
    return found


@compiled_step
def _leaving(links: Links, holds: Holds, wanted: Links, begin: int, node: int, robot: int) -> int:
    """Return how well a robot leaves what somebody wants if it moves from `begin` to `node`, 0 best.

    Who holds several nodes holds fewer of those wanted; others take fewer steps until they hold none.
    """
    count = _is_wanted(holds, wanted, node, robot)
    if count == 0 or holds.firsts[begin + 1] - holds.firsts[begin] >= 2:
        return count
    if node == begin:
        return 3
    for column in range(links.shape[1]):
        end = links[node, column]
        if end >= 0 and _is_wanted(holds, wanted, end, robot) == 0:
            return 1
    return 2


@inlined
def _sort_choices(
    arrays: StepArrays, now: Ints, then: Ints, wishes: Guidance, chances: np.uint64, swaps: bool, robot: int
) -> None:
    """Order the moves of `robot`: as it is guided, else the nearest to its goal first, then free ones unless it swaps,
    then by chance."""
    links, standing, choices = arrays.links, arrays.standing, arrays.choices
    ranks, remaining = arrays.ranks, arrays.remaining
    steps, rows, guides = wishes
    width = links.shape[1] + 1
    own, begin = choices[robot], now[robot]
    leaves = len(arrays.holds.stands) > 0 and _is_wanted(arrays.holds, arrays.wanted, begin, robot) > 0
    # Column K, after the neighbors, is staying.
    count, crowded = 0, False
    for column in range(width):
        node = begin if column == width - 1 else links[begin, column]
        if node < 0:
            continue
        taken = standing[node] >= 0 and node != begin
        crowded = crowded or taken
        away = np.int64(remaining[robot, column])
        if leaves:
            away = np.int64(_leaving(links, arrays.holds, arrays.wanted, begin, node, robot))
        rank = _rank(away, taken and not swaps, _chance_bits(chances, robot, node))
        # A guide goes before all distances, whoever stands there.
        if len(guides) and guides[robot, begin] == column:
            rank = np.int64(-1)
        # Insertion sort, as the moves are few, without a branch that nobody can guess.
        key = (rank << COLUMN_BITS) + column
        for at in range(count):
            ranks[at], key = min(ranks[at], key), max(ranks[at], key)
        ranks[count] = key
        count += 1
    for at in range(count):
        own[at] = ranks[at] & ((1 << COLUMN_BITS) - 1)
    for at in range(count, width):
        own[at] = NOBODY
    own[width + TRIED], own[width + ASKED], own[width + PLACE], own[width + ON_STACK] = 0, 0, begin, 1
    own[width + PARTNER] = NOBODY
    if swaps and crowded:
        # Asked only where somebody stands beside this robot, as nobody else can swap with it.
        first = begin if own[0] == width - 1 else links[begin, own[0]]
        own[width + PARTNER] = find_partner(links, now, then, standing, steps, rows, robot, first)
        if own[width + PARTNER] != NOBODY:
            # In reverse: to swap, this robot first backs away, and the partner follows into its place.
            for at in range(count // 2):
                own[at], own[count - 1 - at] = own[count - 1 - at], own[at]


@compiled_step
def _rank(away: np.int64, avoided: bool, chance_bits: np.int64) -> np.int64:
    """Return what choices are ordered by; without swaps robots leave each other alone where they can.

    Swapping needs to meet those in the way, so nobody is avoided then.
    """
    # Chance has bits 0 to 18, bit 19 says that somebody stands there, the distance is above: the first that differs
    # decides.
    return (NO_WAY if away < 0 else away << 20) + (1 << 19 if avoided else 0) + chance_bits


@compiled_step
def _pull(
    links: Links, bars: Bytes, passes: Ints, now: Ints, then: Ints, holding: Links, own: Links, robot: int
) -> None:
    """Let the partner of `robot` follow to the place that it leaves, if it goes the way that was meant for this."""
    partner, place = own[links.shape[1] + 1 + PARTNER], now[robot]
    # After any but the first choice the robot has not backed away as meant, and the two would not swap.
    if own[links.shape[1] + 1 + TRIED] > 0 or then[partner] != NOBODY or holding[place] != NOBODY:
        return
    if is_shut(bars, passes, partner, place):
        return
    for column in range(links.shape[1]):
        if links[now[partner], column] == place:
            then[partner] = place
            holding[place] = partner
            return


@inlined
def _hold_next(arrays: StepArrays, now: Ints, then: Ints, allow_rotations: bool, robot: int) -> None:
    """Let `robot` take the first of its remaining moves that is free, if there is one."""
    links, holds, bars, passes, standing, holding, _, choices, _, _, _ = arrays
    begins, ids = holds.begins, holds.ids
    width = links.shape[1] + 1
    own, begin = choices[robot], now[robot]
    while own[width + TRIED] < width and own[own[width + TRIED]] != NOBODY:
        column = own[own[width + TRIED]]
        node = begin if column == width - 1 else links[begin, column]
        free = holding[node] == NOBODY and (node == begin or not is_shut(bars, passes, robot, node))
        # Asked here first, as calls with many arrays are slow.
        if free and standing[node] >= 0:
            free = _may_take(holds, then, standing, holding, choices, allow_rotations, robot, begin, node)
        if free and len(ids) and node != begin:
            move = begin * links.shape[1] + column
            for at in range(begins[move], begins[move + 1]):
                free = free and holding[ids[at]] == NOBODY
                if ids[at] < len(links):
                    free = free and _may_take(holds, then, standing, holding, choices, False, robot, begin, ids[at])
        if free and len(holds.stands):
            for at in range(holds.firsts[node], holds.firsts[node + 1]):
                held = holds.stands[at]
                free = free and holding[held] == NOBODY
                free = free and _may_take(holds, then, standing, holding, choices, False, robot, begin, held)
        if free:
            then[robot] = node
            mark(holds, node, robot, holding)
            if len(ids) and node != begin:
                move = begin * links.shape[1] + column
                for at in range(begins[move], begins[move + 1]):
                    holding[ids[at]] = robot
            return
        own[width + TRIED] += 1


@compiled_step
def is_shut(bars: Bytes, passes: Ints, robot: int, node: int) -> bool:
    """Return whether `robot` must not enter `node`.

    A blocked node is shut for all. One with a bar is open for robots that may go everywhere, and for the robot whose
    pass names it.
    """
    if bars[node] == OPEN:
        return False
    return bars[node] == BLOCKED or (passes[robot] != EVERYWHERE and passes[robot] != node)


@compiled_step
def _may_take(
    holds: Holds,
    then: Ints,
    standing: Links,
    holding: Links,
    choices: Links,
    allow_rotations: bool,
    robot: int,
    begin: int,
    node: int,
) -> bool:
    """Return whether `robot` may need `node`, as far as the robot on it is concerned: no swap, and no rotation."""
    other = standing[node]
    if other < 0 or other == robot or then[other] == NOBODY:
        return True
    # The other one comes to where this one stands: they would meet half-way.
    if holding[begin] == other:
        return False
    if len(holds.stands):
        for at in range(holds.firsts[begin], holds.firsts[begin + 1]):
            if holding[holds.stands[at]] == other:
                return False
    # One on the stack waits for this robot: following it closes a ring, in which all move at once.
    return allow_rotations or choices[other, choices.shape[1] - KEPT + ON_STACK] == 0


@compiled_step
def _next_in_the_way(links: Links, holds: Holds, then: Ints, standing: Links, own: Links, robot: int) -> int:
    """Return the next robot without a plan that stands on what `robot` holds, NOBODY for none."""
    width, begins, ids = links.shape[1] + 1, holds.begins, holds.ids
    column = own[own[width + TRIED]]
    if column == width - 1:
        return NOBODY
    # First who stands on the node, then who on what the move claims, or is held there; ASKED counts through all.
    if own[width + ASKED] == 0:
        own[width + ASKED] = 1
        other = standing[then[robot]]
        if other >= 0 and other != robot and then[other] == NOBODY:
            return other
    if len(ids):
        move = own[width + PLACE] * links.shape[1] + column
        while begins[move] + own[width + ASKED] - 1 < begins[move + 1]:
            claimed = ids[begins[move] + own[width + ASKED] - 1]
            own[width + ASKED] += 1
            if claimed < len(links):
                other = standing[claimed]
                if other >= 0 and other != robot and then[other] == NOBODY:
                    return other
    # No network has both.
    elif len(holds.stands):
        end = then[robot]
        while holds.firsts[end] + own[width + ASKED] - 1 < holds.firsts[end + 1]:
            other = standing[holds.stands[holds.firsts[end] + own[width + ASKED] - 1]]
            own[width + ASKED] += 1
            if other >= 0 and other != robot and then[other] == NOBODY:
                return other
    return NOBODY


@inlined
def let_go(links: Links, holds: Holds, begin: int, end: int, holding: Links, robot: int) -> None:
    """Free what `robot` holds for its move, but not what another one has taken since."""
    begins, ids = holds.begins, holds.ids
    if holding[end] == robot:
        holding[end] = NOBODY
    if len(holds.stands):
        for at in range(holds.firsts[end], holds.firsts[end + 1]):
            if holding[holds.stands[at]] == robot:
                holding[holds.stands[at]] = NOBODY
    if len(ids) and end != begin:
        for column in range(links.shape[1]):
            if links[begin, column] == end:
                move = begin * links.shape[1] + column
                for at in range(begins[move], begins[move + 1]):
                    if holding[ids[at]] == robot:
                        holding[ids[at]] = NOBODY
                return


@compiled_step
def _chance_bits(key: np.uint64, robot: int, node: int) -> np.int64:
    """Return 19 bits that depend on all three, evenly spread."""
    # Multipliers and shifts are those of SplitMix64.
    word = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(robot) * np.uint64(0xBF58476D1CE4E5B9)
    word += np.uint64(node) * np.uint64(0x94D049BB133111EB)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    # The upper bits are the best mixed ones: 64 - 45 = 19 of them are kept.
    return np.int64(word >> np.uint64(45))


@compiled_step
def chance(key: np.uint64, robot: int, node: int) -> float:
    """Return a number from 0 to 1.

    It depends on the three arguments alone, so runs can be repeated, and robots be planned in any order.
    """
    # 2 ** 19, so the number is below 1.
    return _chance_bits(key, robot, node) / 524288.0


TURNS = 7
"""Of two: steps for which the same of the robots that take several cells comes first."""
FIRST = 1e9
"""Beyond all waiting: by how much wide robots on their way are more urgent than others."""


@saved
class PibtStep:
    """The arrays that a step works on, kept from call to call."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._standing = np.full(len(network), NOBODY, np.int32)
        self._wanted = np.full(len(network), NOBODY, np.int32)
        self._holding = np.full(network.claims.resources(len(network)), NOBODY, np.int32)

    def arrays(self, problem: Problem) -> StepArrays:
        """Return what steps of `problem` work on."""
        network = self._network
        robots, width = len(problem), network.links.shape[1] + 1
        choices = np.zeros((robots, width + KEPT), np.int32)
        stack, remaining = np.empty(robots, np.int32), np.empty((robots, width), np.int32)
        return StepArrays(
            *(network.links, holds_of(network), problem.bars, problem.passes, self._standing, self._holding),
            self._wanted,
            choices,
            stack,
            np.empty(width, np.int64),
            remaining,
        )


@compiled
def run_steps(
    arrays: StepArrays,
    starts: Ints,
    goals: Ints,
    wishes: Guidance,
    waited: Ints,
    seed: np.uint64,
    allow_rotations: bool,
    swaps: bool,
    to_end: bool,
    columns: Ints,
) -> int:
    """Write steps to `columns` (R, T); with `to_end` stop when all are at their goals. Returns how many were made.

    `waited` (R,) is counted on for robots on their way, and 0 for those at their goals.
    """
    links, holds, _, passes, standing, holding, wanted, choices, _, _, remaining = arrays
    robots, length = columns.shape
    now, then = starts.copy(), np.full(robots, NOBODY, np.int64)
    urgency = np.empty(robots, np.float64)
    order = starts[:0]
    for number in range(length):
        if to_end and np.array_equal(now, goals):
            return number
        for robot in range(robots):
            # Who has waited longest goes first. Among equals the same chance decides in each step, or nobody would get
            # ahead.
            urgency[robot] = -waited[robot] + 0.5 * chance(np.uint64(0), robot, 0)
            # Places beside shelves are dead ends to wide robots only: narrow ones can always make room there.
            if passes[robot] != EVERYWHERE and now[robot] != goals[robot]:
                urgency[robot] -= FIRST
            # Who takes several cells seldom finds all of them free. Two of them may have to make room for each other
            # over many steps, so each of them comes first for a while.
            several = len(holds.stands) > 0 and holds.firsts[now[robot] + 1] > holds.firsts[now[robot]] + 1
            if several and now[robot] != goals[robot]:
                urgency[robot] = chance((seed + np.uint64(number)) >> np.uint64(TURNS), robot, 0) - FIRST
            then[robot] = NOBODY
            mark(holds, now[robot], robot, standing)
        # From one step to the next only those who arrive lose their turn: nearly sorted, it takes one look at each. Of
        # equal ones the first goes first, with compiled code as without.
        order = order if number else np.argsort(urgency, kind="mergesort")
        for place in range(1, robots if number else 0):
            robot, to = int(order[place]), place
            while to > 0 and urgency[order[to - 1]] > urgency[robot]:
                order[to] = order[to - 1]
                to -= 1
            order[to] = robot
        look_ahead(links, now, wishes.steps, wishes.rows, remaining)
        # In each step other chances.
        key = seed + np.uint64(number)
        if len(holds.stands):
            wanted[:] = NOBODY
            choices[:, choices.shape[1] - KEPT + AGAIN] = 0
        planned = False
        while not planned:
            planned = True
            for place in range(robots):
                robot = int(order[place])
                if then[robot] == NOBODY:
                    give_way(arrays, now, then, wishes, key, allow_rotations, swaps, robot)
            # Those that are planned again; each that holds several lets that happen once.
            if len(holds.stands):
                for robot in range(robots):
                    planned = planned and then[robot] != NOBODY
        # Empty again for the next step, as the arrays are kept.
        for robot in range(robots):
            let_go(links, holds, now[robot], then[robot], holding, robot)
            mark(holds, now[robot], NOBODY, standing)
        for robot in range(robots):
            now[robot] = then[robot]
            columns[robot, number] = now[robot]
            waited[robot] = 0 if now[robot] == goals[robot] or wishes.rows[robot] == OWN_PLACE else waited[robot] + 1
    return length


@compiled
def next_places(
    arrays: StepArrays,
    now: Ints,
    wishes: Guidance,
    order: Ints,
    fixed: Ints,
    key: np.uint64,
    allow_rotations: bool,
    swaps: bool,
    then: Ints,
) -> bool:
    """Write the next nodes (R,) of all robots to `then`, planned in `order`; returns whether there are any.

    `fixed` (C, 2) has robots and the columns of the moves that they must make, K for waiting.
    """
    links, holds, _, _, standing, holding, _, choices, _, _, remaining = arrays
    robots = len(now)
    for robot in range(robots):
        standing[now[robot]] = robot
        then[robot] = NOBODY
        choices[robot, choices.shape[1] - KEPT + ON_STACK] = 0
    look_ahead(links, now, wishes.steps, wishes.rows, remaining)
    sound = True
    for number in range(len(fixed)):
        sound = sound and _fix(arrays, now, then, fixed[number])
    for robot in order:
        if sound and then[robot] == NOBODY:
            sound = give_way(arrays, now, then, wishes, key, allow_rotations, swaps, robot)
    # Fixed robots have asked nobody, so circles and swaps with them are found only now.
    if sound and len(fixed):
        sound = are_in_order(links, holds, now, then, standing, holding, allow_rotations)
    for robot in range(robots):
        if then[robot] != NOBODY:
            let_go(links, holds, now[robot], then[robot], holding, robot)
        standing[now[robot]] = NOBODY
    return sound


@compiled_step
def _fix(arrays: StepArrays, now: Ints, then: Ints, fixed: Ints) -> bool:
    """Let a robot make the move that it must make; returns whether it can."""
    links, holds, bars, passes, _, holding, _, _, _, _, _ = arrays
    begins, ids = holds.begins, holds.ids
    robot, column = fixed
    begin = now[robot]
    node = begin if column == links.shape[1] else links[begin, column]
    if holding[node] != NOBODY or (node != begin and is_shut(bars, passes, robot, node)):
        return False
    move = begin * links.shape[1] + column
    if len(ids) and node != begin:
        for at in range(begins[move], begins[move + 1]):
            if holding[ids[at]] != NOBODY:
                return False
        # Held only now: a move that cannot be made leaves nothing.
        for at in range(begins[move], begins[move + 1]):
            holding[ids[at]] = robot
    holding[node] = robot
    then[robot] = node
    return True
