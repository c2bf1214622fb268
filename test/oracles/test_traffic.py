"""Trajectories of robots in traffic, checked from their poses after each step, and figures recomputed from them."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.warehouse.sites import Grid, Site, build_walls
from fleet_sim.warehouse.traffic import Traffic, offer_traffic
from fleet_sim.warehouse.traffic.figures import Closest, outlines_of
from fleet_sim.warehouse.traffic.runs import TasksSettings, offer_tasks

CELL, ORIGIN, TICK, DWELL = 1.1, (4.3, -7.1, 0.7), 0.05, 1.35
ROWS = [
    "...........",
    ".##.###.##.",
    "...........",
    ".#..###..#.",
    ".#.......#.",
    "...........",
    ".###.#.###.",
    "...........",
]
RADII, SPEEDS, ACCELS = (0.23, 0.37), (0.9, 1.6), (0.7, 1.9)
SPINS, SPIN_ACCELS = (1.3, 2.7), (1.7, 5.1)
DISTURBED = {
    "delays": {"probability": 0.06, "shortest": 0.4, "longest": 2.2},
    "slow": {"share": 0.3, "pace": 0.6},
    "breakdowns": {"probability": 0.002, "after": 4.0},
}


class Run:
    """Robots of two kinds at their tasks, and what they reported after each step."""

    def __init__(self, planner: str, robots: int, seconds: float, **settings: Any) -> None:
        free = np.array([[letter == "." for letter in row] for row in ROWS])
        self.grid, self.free = Grid(free, CELL, ORIGIN), free
        site = Site("yard", self.grid)
        params = fs.SimulationParams(
            gui=False, timestep=TICK, target_rtf=0, seed=11, collision_margin=0.02, ignore_static_collision=False
        )
        with fs.MultiRobotSimulationCore(params) as sim:
            build_walls(sim, site)
            cells = np.random.default_rng(5).permutation(self.grid.free_cells)[:robots]
            self.kinds = np.arange(robots) % 2
            places = self.grid.positions(cells).tolist()
            for number, (kind, (x, y)) in enumerate(zip(self.kinds.tolist(), places, strict=True)):
                shape = fs.ShapeParams("cylinder", radius=RADII[kind], height=0.3 + 0.1 * kind)
                limits = {
                    "type": "differential",
                    "max_linear_vel": SPEEDS[kind],
                    "max_linear_accel": ACCELS[kind],
                    "max_angular_vel": SPINS[kind],
                    "max_angular_accel": SPIN_ACCELS[kind],
                }
                pose = fs.Pose.from_yaw(x, y, 0.2, 0.3)
                sim.spawn(fs.AgentSpawnParams(shape, shape, pose, name=str(number), controller=limits))
            traffic: Traffic = offer_traffic(sim, site, planner=planner, radius=max(RADII), **settings)
            traffic.enroll(sim.agents)
            self.arrivals: list[tuple[int, int]] = []
            sim.events.on("traffic_arrived", lambda agent, node: self.arrivals.append((len(poses), int(agent.name))))
            poses: list[Floats] = []
            rates: list[Floats] = []
            work = offer_tasks(sim, traffic, TasksSettings(goals="random", dwell=DWELL))
            agents = list(sim.agents)
            begin = np.array([(*agent.position[:2], agent.get_pose().yaw) for agent in agents])
            while sim.sim_time < seconds - 1e-9:
                sim.step_once()
                poses.append(np.array([(*agent.position[:2], agent.get_pose().yaw) for agent in agents]))
                rates.append(np.array([(math.hypot(*agent.velocity[:2]), agent.angular_velocity) for agent in agents]))
            self.figures, self.collisions = work.figures(), sim.collisions.count
        # Along the grid's own axes, as walls are.
        poses = [begin, *poses]
        self.places = np.array([self.grid.to_own(pose[:, :2]) for pose in poses])
        self.yaws = np.unwrap(np.array(poses)[..., 2], axis=0)
        self.speeds = np.array([np.zeros((robots, 2)), *rates])[..., 0]
        self.spins = np.array([np.zeros((robots, 2)), *rates])[..., 1]
        self.radii = np.array(RADII)[self.kinds]

    def of_kind(self, *values: float) -> Floats:
        """A number for each robot."""
        return np.array(values)[self.kinds]


def least_gap(apart: Floats) -> Floats:
    """The least distance (K,) of two points whose offsets (K + 1, 2) after each step are joined by straight lines."""
    begin, way = apart[:-1], np.diff(apart, axis=0)
    square = (way * way).sum(axis=1)
    share = np.clip(-(begin * way).sum(axis=1) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    return np.asarray(np.hypot(*(begin + share[:, None] * way).T))


def wall_gap(free: Bools, places: Floats) -> float:
    """The least distance of places (K, 2) from blocked cells and from the edge of the map."""
    height, width = free.shape
    x, y = places.T
    nearest = min(x.min(), y.min(), (width * CELL - x).min(), (height * CELL - y).min())
    for row, column in np.argwhere(~free).tolist():
        across = np.abs(x - (column + 0.5) * CELL) - 0.5 * CELL
        up = np.abs(y - (height - row - 0.5) * CELL) - 0.5 * CELL
        nearest = min(nearest, np.hypot(np.maximum(across, 0.0), np.maximum(up, 0.0)).min())
    return float(nearest)


PLANNERS = [
    pytest.param(
        ("pibt", 16, {"disturbances": DISTURBED, "settings": {"allow_rotations": True}}), id="pibt, disturbed"
    ),
    pytest.param(("lacam", 8, {"disturbances": DISTURBED, "window": 8}), id="lacam, disturbed"),
]


@pytest.fixture(scope="module", params=PLANNERS)
def run(request: pytest.FixtureRequest) -> Run:
    planner, robots, settings = request.param
    return Run(planner, robots, 60.0, **settings)


@holds(
    "record:position", "report:closest_gap_m", fault="warehouse/traffic/dependency_graph.py: lanes are clear half-way"
)
def test_robots_touch_neither_each_other_nor_walls_at_any_time(run: Run) -> None:
    robots = range(len(run.radii))
    for one, other in combinations(robots, 2):
        least = least_gap(run.places[:, one] - run.places[:, other])
        assert least.min() >= run.radii[one] + run.radii[other] + 0.02 - 1e-9
    for robot in robots:
        assert wall_gap(run.free, run.places[:, robot]) >= run.radii[robot]
    assert run.collisions == 0


@holds("record:position", fault="warehouse/traffic/driving.py: a node is granted one use too early")
def test_no_two_robots_stand_on_one_node(run: Run) -> None:
    # Nodes are middles of cells; who is on none drives from one to the next along a row or a column.
    off = run.places / CELL - np.floor(run.places / CELL) - 0.5
    on_node = (np.abs(off) < 1e-9).all(axis=2)
    assert (np.abs(off).min(axis=2) < 1e-9).all()
    for places, mask in zip(np.floor(run.places / CELL), on_node, strict=True):
        assert len(np.unique(places[mask], axis=0)) == mask.sum()


@holds("api:Agent.velocity", "record:velocity", fault="warehouse/traffic/driving.py: 0.5 -> 0.51 in `drive`")
def test_speeds_and_accelerations_stay_within_limits_and_fit_the_poses(run: Run) -> None:
    speed, accel = run.of_kind(*SPEEDS), run.of_kind(*ACCELS)
    assert (run.speeds <= speed + 1e-9).all()
    assert (np.abs(np.diff(run.speeds, axis=0)) <= accel * TICK + 1e-9).all()
    ways = np.hypot(*np.diff(run.places, axis=0).transpose(2, 0, 1))
    assert (ways <= speed * TICK + 1e-9).all()
    # Speeds change evenly within a step, but where a robot comes to rest before its end.
    goes = run.speeds[1:] > 0.0
    assert ways[goes] == pytest.approx((0.5 * TICK * (run.speeds[1:] + run.speeds[:-1]))[goes], abs=1e-9)
    rests = ~goes & (run.speeds[:-1] > 0.0)
    assert (ways[rests] <= (run.speeds[:-1] * TICK)[rests] + 1e-9).all()
    # Some robot reaches its limits.
    fast = run.speeds.max(axis=0) / speed
    assert fast.max() == pytest.approx(1.0)


@holds(
    "api:Agent.angular_velocity", fault="warehouse/traffic/driving.py:187: 0.5 -> 0.51, and where a held robot turns"
)
def test_headings_are_the_sum_of_the_reported_rates(run: Run) -> None:
    spin, accel = run.of_kind(*SPINS), run.of_kind(*SPIN_ACCELS)
    assert (np.abs(run.spins) <= spin + 1e-9).all()
    assert (np.abs(np.diff(run.spins, axis=0)) <= accel * TICK + 1e-9).all()
    turns, both = np.diff(run.yaws, axis=0), run.spins[1:] + run.spins[:-1]
    # The last step of a turn ends at the heading of the lane, which may be before the end of the step.
    goes = run.spins[1:] != 0.0
    assert goes.sum() > 200
    assert turns[goes] == pytest.approx((0.5 * TICK * both)[goes], abs=1e-9)
    rests = ~goes & (run.spins[:-1] != 0.0)
    assert (np.abs(turns[rests]) <= np.abs(run.spins[:-1] * TICK)[rests] + 1e-9).all()
    # On the spot, and towards the lane that is driven next.
    ways = np.diff(run.places, axis=0)
    moves = np.hypot(ways[..., 0], ways[..., 1]) > 1e-9
    assert not (moves & goes).any()
    ahead = run.yaws[1:] - ORIGIN[2]
    assert np.abs(ways[..., 0] * np.sin(ahead) - ways[..., 1] * np.cos(ahead))[moves].max() <= 1e-9


@holds(
    *("report:speed_mean", "report:driven_m", "report:closest_m", "report:closest_gap_m", "report:throughput_per_s"),
    *("report:waiting_s_mean", "report:longest_wait_s", "report:speed_max", "report:tasks_done"),
    fault="warehouse/traffic/figures.py:44: speed_mean is not divided by the number of robots",
)
def test_figures_are_those_of_the_trajectories(run: Run) -> None:
    found, robots, steps = run.figures, len(run.radii), len(run.places) - 1
    ways = np.hypot(*np.diff(run.places, axis=0).transpose(2, 0, 1))
    assert found["driven_m"] == pytest.approx(ways.sum(), rel=1e-9)
    assert found["speed_mean"] == pytest.approx(ways.sum() / (robots * steps * TICK), rel=1e-9)
    assert found["speed_max"] == pytest.approx(run.speeds.max())
    gaps = {
        pair: np.hypot(*(run.places[:, pair[0]] - run.places[:, pair[1]]).T) for pair in combinations(range(robots), 2)
    }
    assert found["closest_m"] == pytest.approx(min(gap.min() for gap in gaps.values()))
    rims = [gap.min() - run.radii[one] - run.radii[other] for (one, other), gap in gaps.items()]
    assert found["closest_gap_m"] == pytest.approx(min(rims))
    # A task ends when the stay after its arrival does.
    stay = round(DWELL / TICK)
    done = [(step, robot) for step, robot in run.arrivals if step + stay < steps]
    assert found["tasks_done"] == pytest.approx(len(done), abs=1) and len(done) > 10
    assert found["throughput_per_s"] == pytest.approx(found["tasks_done"] / (steps * TICK))
    # Who neither drives nor turns waits, unless it stays at a goal, from the step after its arrival on.
    waits = (run.speeds[1:] == 0.0) & (run.spins[1:] == 0.0)
    for step, robot in run.arrivals:
        waits[step + 1 : step + 1 + stay, robot] = False
    assert found["waiting_s_mean"] == pytest.approx(waits.sum() * TICK / robots, rel=0.005)
    longest = 0
    for robot in range(robots):
        ends = np.flatnonzero(np.diff(np.concatenate(([0], waits[:, robot].astype(int), [0]))))
        longest = max([longest, *(ends[1::2] - ends[::2]).tolist()])
    assert found["longest_wait_s"] == pytest.approx(longest * TICK, abs=2.1 * TICK)


@holds("api:Agent.velocity", fault="warehouse/traffic/driving.py:103: 0.5 -> 0.51")
def test_robots_that_move_round_at_once_drive_what_they_report() -> None:
    grid = Grid(np.ones((2, 2), bool), CELL, ORIGIN)
    site, ring = Site("ring", grid), grid.positions(np.array([0, 1, 3, 2]))
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=TICK, target_rtf=0)) as sim:
        shape = fs.ShapeParams("cylinder", radius=RADII[0], height=0.3)
        for number, (x, y) in enumerate(ring.tolist()):
            limits = {"max_linear_vel": SPEEDS[number % 2], "max_linear_accel": ACCELS[number % 2]}
            pose = fs.Pose.from_yaw(x, y, 0.2, 0.3)
            sim.spawn(fs.AgentSpawnParams(shape, shape, pose, controller={"type": "differential", **limits}))
        traffic = offer_traffic(sim, site, settings={"allow_rotations": True})
        traffic.enroll(sim.agents)
        for agent, goal in zip(sim.agents, np.roll(ring, -1, axis=0).tolist(), strict=True):
            traffic.send(agent, (goal[0], goal[1]))
        places, speeds = [ring], [np.zeros(4)]
        while sim.sim_time < 12.0:
            sim.step_once()
            places.append(np.array([agent.position[:2] for agent in sim.agents]))
            speeds.append(np.array([math.hypot(*agent.velocity[:2]) for agent in sim.agents]))
    ways, rates = np.hypot(*np.diff(places, axis=0).transpose(2, 0, 1)), np.array(speeds)
    goes = rates[1:] > 0.0
    assert places[-1] == pytest.approx(np.roll(ring, -1, axis=0))
    assert (goes.all(axis=1) == goes.any(axis=1)).all() and goes.any()
    assert ways[goes] == pytest.approx((0.5 * TICK * (rates[1:] + rates[:-1]))[goes], abs=1e-9)
    assert rates.max() <= min(SPEEDS) + 1e-9


# ---- gaps of any outlines ------------------------------------------------------------------------------------------


def rim(agent: fs.Agent, halves: tuple[float, ...], count: int = 4000) -> Floats:
    """Points on the rim of a disc (radius,) or of a box (half its length, half its width)."""
    x, y = agent.position[:2]
    yaw = agent.get_pose().yaw
    angles = np.linspace(0.0, 2.0 * math.pi, count, endpoint=False)
    unit = np.column_stack((np.cos(angles), np.sin(angles)))
    round_ = len(halves) == 1
    own = halves[0] * unit if round_ else unit / np.abs(unit / np.array(halves)).max(axis=1)[:, None]
    turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
    return np.asarray(own @ turn + (x, y))


@holds(
    "report:closest_gap_m", fault="warehouse/traffic/figures.py: middles less twice the largest radius, on any floor"
)
@pytest.mark.parametrize("seed", range(12))
def test_gaps_are_those_between_the_outlines_of_robots_on_one_floor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes: list[tuple[float, ...]] = [(0.7, 0.25), (0.31,), (0.2, 0.5), (0.45,), (0.3, 0.15)]
    heights = [0.2, 0.2, 3.7, 0.2, 3.7]
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0)) as sim:
        agents = []
        for half, z in zip(sizes, heights, strict=True):
            box = fs.ShapeParams("box", half_extents=(*half, 0.2)) if len(half) == 2 else None
            shape = box or fs.ShapeParams("cylinder", radius=half[0], height=0.4)
            x, y = rng.uniform(0.0, 3.0, 2).tolist()
            agents.append(sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(x, y, z, rng.uniform(-3, 3)))))
        rows = np.array([agent.row for agent in agents])
        closest = Closest()
        closest.look(outlines_of(sim.world, rows, np.array([math.hypot(*half) for half in sizes])))
        expected, overlap = math.inf, False
        for one, other in combinations(range(len(agents)), 2):
            if heights[one] == heights[other]:
                first, second = rim(agents[one], sizes[one], 1500), rim(agents[other], sizes[other], 1500)
                apart = np.hypot(*(first[:, None] - second[None]).transpose(2, 0, 1)).min()
                expected = min(expected, apart)
                overlap = overlap or apart < 0.004
        if overlap:
            assert closest.gap <= 0.004
        else:
            assert closest.gap == pytest.approx(expected, abs=0.004)
