"""Who must change places with whom in a corridor, where pushing alone would lead to nothing; compiled.

Two robots that want past each other in a corridor drive on, one pulling the other, to where three ways meet, and change
places there (Okumura, 2023, on LaCAM's second version).
"""

from __future__ import annotations

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled_step
from fleet_sim.traffic.tables import Links, Steps

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
