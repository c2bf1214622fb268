"""What is counted over a run of the traffic, what disturbs it, and which plans may be driven, worked out plainly."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from networks import grid_network, site_of
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.sites import Grid
from fleet_sim.warehouse.traffic import Problem, check_paths, rotations
from fleet_sim.warehouse.traffic.columns import BROKEN, DELAYED
from fleet_sim.warehouse.traffic.figures import FigureCollector

STEP = 0.13


@holds(
    *("report:heat.passages", "report:heat.waited", "report:levels.*", "report:stuck_robots", "report:deadlocks"),
    "report:starved",
    fault="warehouse/traffic/figures.py: rows of the heat map are counted from below, or not turned",
)
@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_counts_of_a_run_are_those_of_its_steps(turn: float) -> None:
    random = np.random.default_rng(4)
    # Squares of 2 x 2 cells of 0.3 m, the last row and column of them half beside the map.
    grid = Grid(np.ones((9, 13), bool), 0.3, (-1.7, 2.2, turn))
    collector = FigureCollector(grid, deadlock_after=5.0 * STEP, levels=("asked",))
    roles = [state.role.value for state in collector.states]
    ahead, aside = np.array((math.cos(turn), math.sin(turn))), np.array((-math.sin(turn), math.cos(turn)))
    own = random.uniform(-0.4, 4.4, (4, 2))
    passages, waited = np.zeros((5, 7)), np.zeros((5, 7))
    last: dict[int, Any] = {}
    driven, before, still, stood = np.zeros(4), {}, 0, np.zeros(4)
    deadlocks, longest, in_state, series = 0, 0.0, np.zeros((len(roles), 4)), []
    steps_stood, starved = [0] * 4, 0

    def place() -> np.ndarray:
        return np.asarray(np.array(grid.origin[:2]) + own[:, :1] * ahead + own[:, 1:] * aside)

    collector.begin(np.arange(4), place())
    before = {robot: own[robot].copy() for robot in range(4)}
    for step in range(260):
        # One of them is away for a while; now and then all stand.
        there = np.array([robot for robot in range(4) if robot != 2 or not 60 <= step < 100])
        quiet = step % 52 > 26
        own += 0.0 if quiet else random.normal(0.0, 0.12, own.shape)
        codes = random.integers(0, len(roles), 4)
        if quiet:
            codes[:] = roles.index("waits")
        collector.observe(STEP, there, place()[there], codes[there], (float(step % 3),))
        if step % 50 == 7:
            collector.tasks_ended(np.array([3.0, 4.5]))
        for robot in range(4):
            if robot not in there:
                before.pop(robot, None)
                continue
            column, up = math.floor(own[robot, 0] / 0.6), math.floor(own[robot, 1] / 0.6)
            square = (4 - up, column) if 0 <= column < 7 and 0 <= up < 5 else None
            if square is not None and square != last.get(robot):
                passages[square] += 1
            last[robot] = square
            waits = roles[codes[robot]] == "waits"
            if waits and square is not None:
                waited[square] += STEP
            if robot in before:
                driven[robot] += math.dist(own[robot], before[robot])
            before[robot] = own[robot].copy()
            stood[robot] = stood[robot] + STEP if waits else 0.0
            steps_stood[robot] = steps_stood[robot] + 1 if waits else 0
            # Four times as long as a deadlock takes, and once a wait.
            starved += steps_stood[robot] == 20
            in_state[codes[robot], robot] += STEP
            longest = max(longest, stood[robot])
        named = [roles[code] for code in codes[there]]
        still = still + 1 if "waits" in named and not {"moves", "works"} & set(named) else 0
        # Five steps of standing are one deadlock, however long it goes on.
        deadlocks += still == 5
        series.append((step % 3) * STEP)
    assert collector.heat.passages.reshape(5, 7).tolist() == passages.tolist() and passages.sum() > 100
    assert collector.heat.waited.reshape(5, 7) == pytest.approx(waited)
    assert collector.driven == pytest.approx(driven)
    assert [collector.seconds_in(state.name) for state in collector.states] == [pytest.approx(row) for row in in_state]
    assert (collector.standstill.deadlocks, collector.tasks_done) == (deadlocks, 12) and deadlocks > 3
    assert collector.standstill.starved == starved > 10
    assert collector.standstill.longest == pytest.approx(longest)
    assert len(collector.standstill.stuck_ones()) == np.count_nonzero(stood >= 5.0 * STEP - 1e-9)
    ends, sums = collector.series.table()
    # Stretches of a second or just above, the last one cut off; each has what came until its end.
    assert np.diff(ends)[:-1] == pytest.approx(8 * STEP) and ends[-1] == pytest.approx(260 * STEP)
    cuts = np.cumsum(series)
    assert np.cumsum(sums[:, -1]) == pytest.approx([cuts[round(end / STEP) - 1] for end in ends])
    assert collector.flow_times.tolist() == [3.0, 4.5] * 6


# ---- disturbances --------------------------------------------------------------------------------------------------


def lengths_of(held: np.ndarray) -> np.ndarray:
    """How many steps each stretch of a flag (T, N) has that began and ended in sight."""
    found: list[int] = []
    for row in held.T.astype(int):
        edges = np.flatnonzero(np.diff(row))
        edges = edges[1:] if row[0] else edges
        found += (edges[1::2] - edges[: len(edges) // 2 * 2 : 2]).tolist()
    return np.array(found)


@holds(
    "report:delays",
    "report:breakdowns",
    fault="warehouse/traffic/disturbances.py: delays are drawn in each step; all last longest; long gaussian ones",
)
@pytest.mark.parametrize(("durations", "events"), [("uniform", "each"), ("gaussian", "poisson")])
def test_delays_and_breakdowns_come_as_often_and_last_as_long_as_set(durations: str, events: str) -> None:
    delays = {
        "probability": 0.08,
        "shortest": 1.5,
        "longest": 4.5,
        "events": events,
        "durations": durations,
        "mean": 0.6,
        "deviation": 0.4,
    }
    disturbances = {
        "delays": delays,
        "slow": {"share": 0.3, "pace": 0.4},
        "breakdowns": {"probability": 0.012, "after": 6.0},
        "closures": [{"places": [[0.5, 0.5]], "begin": 3.0, "end": 7.5}],
    }
    crowd = Crowd(site_of("\n".join(["." * 12] * 10)), 40, seed=3, disturbances=disturbances)
    table, rows = crowd.sim.features.table("traffic"), crowd.traffic.rows
    held, closed = [], []
    for _ in range(900):
        crowd.sim.step_once()
        held.append(table.held[rows].copy())
        closed.append(bool(crowd.traffic.blocked[0].any()))
    flags = np.array(held)
    for flag, chance, key in ((DELAYED, 0.08, "delays"), (BROKEN, 0.012, "breakdowns")):
        on = flags & flag != 0
        began = int((np.diff(on.astype(int), axis=0) == 1).sum()) + int(on[0].sum())
        # Drawn once in each second of those that are not held for it; a Poisson number counts all robots.
        mean = chance * (on.size if flag == DELAYED and events == "poisson" else (~on).sum()) * 0.1
        assert abs(began - mean) <= 4.0 * math.sqrt(mean) and began > 20
        # Some are hit again in the step in which they would drive on.
        again = crowd.traffic.figures()[key] - began
        assert 0 <= again <= 6
        if flag == DELAYED:
            seconds = lengths_of(on) * 0.1
            once = seconds[seconds < 4.5 + 0.11]
            assert seconds.min() >= 1.5 - 0.11 and len(seconds) - len(once) <= again
    # Those beyond the ends last as long as these.
    rng = np.random.default_rng(1)
    shares = rng.uniform(size=10**5) if durations == "uniform" else np.clip(rng.normal(0.6, 0.4, 10**5), 0.0, 1.0)
    mean, deviation = 1.5 + 3.0 * shares.mean(), 3.0 * shares.std()
    assert once.mean() == pytest.approx(mean, abs=0.2) and once.std() == pytest.approx(deviation, abs=0.12)
    assert lengths_of(flags & BROKEN != 0) * 0.1 == pytest.approx(6.0, abs=0.11)
    assert set(table.pace[rows]) == {0.4, 1.0} and abs((table.pace[rows] == 0.4).sum() - 12) <= 10
    times = 0.1 * np.flatnonzero(closed)
    assert times[0] == pytest.approx(3.0, abs=0.11) and times[-1] == pytest.approx(7.4, abs=0.11)


def gap_of(points: np.ndarray, middle: np.ndarray, yaw: float, half: tuple[float, float]) -> np.ndarray:
    """Distances of points (K, 2) from an upright box."""
    ahead, aside = np.array((math.cos(yaw), math.sin(yaw))), np.array((-math.sin(yaw), math.cos(yaw)))
    off = np.abs(np.stack(((points - middle) @ ahead, (points - middle) @ aside), axis=1)) - half
    return np.asarray(np.hypot(*np.maximum(off, 0.0).T))


@holds("api:Traffic.blocked", fault="warehouse/traffic/floor.py: a box is measured as it is turned the other way")
@pytest.mark.parametrize("static", [True, False])
def test_a_body_takes_the_nodes_and_one_end_of_the_lanes_that_it_is_too_near_to(static: bool) -> None:
    crowd = Crowd(site_of("\n".join(["." * 9] * 7)), 1)
    radius, network = crowd.radius, crowd.traffic.network
    lanes = {
        tuple(sorted((node, end))) for node, ends in enumerate(network.neighbours.tolist()) for end in ends if end >= 0
    }
    shares = np.linspace(0.0, 1.0, 201)[:, None]
    random = np.random.default_rng(7)
    for number in range(25):
        half, yaw = tuple(random.uniform(0.05, 0.7, 2).tolist()), float(random.uniform(-3.0, 3.0))
        middle, z = random.uniform((0.5, 0.5), (8.5, 6.5)), float(random.choice([0.2, 0.2, 0.2, 0.75]))
        round_ = number % 5 == 4
        shape = (
            fs.ShapeParams("cylinder", radius=half[0], height=0.4)
            if round_
            else fs.ShapeParams("box", half_extents=(*half, 0.2))
        )
        mode = {"collision_mode": "static"} if static else {}
        body = crowd.sim.spawn(
            fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_yaw(*middle, z, yaw), mass=0.0, **mode)
        )
        crowd.sim.step_once()
        taken = set(np.flatnonzero(crowd.traffic.blocked[1]).tolist())
        # Others than boxes count as the box around them, and what hangs above all robots does not count.
        if round_:
            half, yaw = (half[0], half[0]), 0.0
        nodes = gap_of(network.positions, middle, yaw, half)
        ways = {
            (one, other): gap_of(
                network.positions[one] + shares * (network.positions[other] - network.positions[one]), middle, yaw, half
            ).min()
            for one, other in lanes
        }
        if z > 0.5:
            assert not taken
        else:
            assert taken >= set(np.flatnonzero(nodes < radius - 1e-6).tolist())
            assert all(taken & set(lane) for lane, gap in ways.items() if gap < radius - 1e-3)
            # No others, but for a little more room at lanes.
            for node in taken:
                nearest = min(gap for lane, gap in ways.items() if node in lane)
                assert nodes[node] < radius or nearest <= math.sqrt(1.25) * radius + 1e-6
        crowd.sim.remove_object(body)
    crowd.sim.step_once()
    assert not crowd.traffic.blocked[1].any()


# ---- plans ---------------------------------------------------------------------------------------------------------

NETWORK = grid_network("....#\n.#...\n.....")


def fault_of(paths: np.ndarray, blocked: np.ndarray, barred: np.ndarray, wide: np.ndarray) -> str:
    """What is wrong with a plan, in words of its error; nothing where it can be driven."""
    places = NETWORK.positions
    for step in range(1, paths.shape[1]):
        faults = []
        for robot, (begin, end) in enumerate(paths[:, step - 1 : step + 1].tolist()):
            if begin == end:
                continue
            if abs(math.dist(places[begin], places[end]) - 1.0) > 1e-9:
                faults.append(f"robot {robot} moves from node {begin} to node {end} at step {step}, which are not")
            elif blocked[end]:
                faults.append(f"to node {end} at step {step}, which is blocked")
            elif barred[end] and wide[robot] and end != paths[robot, -1]:
                faults.append(f"to node {end} at step {step}, which is barred")
        for one, other in combinations(range(len(paths)), 2):
            if paths[one, step] == paths[other, step]:
                faults.append(f"are both at node {paths[one, step]} at step {step}")
            elif tuple(paths[one, step - 1 : step + 1]) == tuple(paths[other, step - 1 : step + 1])[::-1]:
                faults.append(f"at step {step}")
        if faults:
            return f"at step {step}"
    return ""


@holds("api:check_paths", fault="warehouse/traffic/problem.py: exchanges of places are found in the first step only")
def test_plans_are_refused_at_the_step_at_which_two_robots_or_a_wall_are_in_the_way() -> None:
    random, seen = np.random.default_rng(6), {True: 0, False: 0}
    count = len(NETWORK)
    moves = [
        [other for other in range(count) if math.dist(NETWORK.positions[node], NETWORK.positions[other]) < 1.1]
        for node in range(count)
    ]
    for _ in range(1500):
        paths = np.zeros((3, 4), np.int64)
        paths[:, 0] = random.permutation(count)[:3]
        for step in range(1, 4):
            for robot in range(3):
                near = moves[paths[robot, step - 1]]
                paths[robot, step] = random.integers(count) if random.random() < 0.02 else random.choice(near)
        blocked, barred, wide = random.random(count) < 0.05, random.random(count) < 0.1, random.random(3) < 0.5
        problem = Problem(NETWORK, paths[:, 0], paths[:, -1], blocked, barred=barred, wide=wide)
        fault = fault_of(paths, blocked, barred, wide)
        seen[not fault] += 1
        if fault:
            with pytest.raises(PlanError, match=fault):
                check_paths(problem, paths)
        else:
            assert check_paths(problem, paths).tolist() == paths.tolist()
    assert min(seen.values()) > 150


@holds("api:rotations", fault="warehouse/traffic/problem.py: who only leads into a circle is in it")
def test_robots_that_move_round_are_those_whose_moves_lead_back_to_themselves() -> None:
    random, found = np.random.default_rng(1), 0
    for _ in range(400):
        begin = random.permutation(12)[:7]
        end = np.where(random.random(7) < 0.6, np.roll(begin, random.integers(1, 7)), begin)
        paths = np.stack((begin, end), axis=1)
        expected = set()
        for robot in range(7):
            walk, at = [], robot
            while at not in walk:
                walk.append(at)
                ahead = np.flatnonzero(begin == end[at])
                if end[at] == begin[at] or not len(ahead):
                    break
                at = int(ahead[0])
            else:
                if at == robot:
                    expected.add(frozenset(walk))
        told = rotations(paths)
        assert {frozenset(robots.tolist()) for _, robots in told} == expected and len(told) == len(expected)
        found += bool(expected)
    assert found > 5
