"""Breakdowns: who stands, when, for how long, recomputed from poses alone; and when they come, from the seed."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from networks import HALL, site_of

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.disturbances import Disturbances
from fleet_sim.warehouse.disturbances.disturbances import cost_tables
from fleet_sim.world.conditions import told_charge


def hall(disturbances: Any, robots: int = 2, seed: int = 3, **simulation: Any) -> fs.MultiRobotSimulationCore:
    """Return robots r0, r1, ... side by side, each on a way of ten kilometres."""
    names = [f"r{number}" for number in range(robots)]
    scenario = {
        "simulation": {"timestep": 0.1, "gui": False, "seed": seed, "raise_on_fault": True, **simulation},
        "robots": [{"name": name, "pose": [0.0, 3.0 * y, 0.1]} for y, name in enumerate(names)],
        "disturbances": disturbances,
    }
    sim = fs.MultiRobotSimulationCore.from_dict(scenario)
    for agent in sim.agents:
        send(agent)
    return sim


def send(agent: fs.Agent) -> None:
    """Send a robot on."""
    pose = agent.get_pose()
    agent.set_goal(fs.Pose((10_000.0, pose.y, pose.z)))


def moved(sim: fs.MultiRobotSimulationCore, steps: int) -> Floats:
    """Return how far each robot moved in each step (steps, N), while each is sent on as soon as it is repaired."""

    def repaired(target: str, **_: object) -> None:
        agent = sim.get_object(target)
        assert isinstance(agent, fs.Agent)
        # Another disturbance may hold it.
        with contextlib.suppress(fs.StateError):
            send(agent)

    sim.events.on("disturbance_ended", repaired)
    found = []
    for _ in range(steps):
        before = sim.world.position[:, 0].copy()
        sim.step_once()
        found.append((sim.world.position[:, 0] - before)[sim.world.rows])
    sim.events.off("disturbance_ended", repaired)
    return np.array(found)


def part(sim: fs.MultiRobotSimulationCore) -> Disturbances:
    """Return the disturbances of a simulation."""
    found: Disturbances = sim.features.use("disturbances")
    return found


def stops(standing: Any) -> list[tuple[int, int]]:
    """Return where True begins and ends."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], standing, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def test_what_disturbs_a_robot_at_once_holds_together_for_those_whom_patterns_name() -> None:
    later = {"at": 2.0, "lasts": 5.0}
    entries = [
        {"kind": "slow", "pace": 0.7, "robots": "r*"},
        {"kind": "slow", "pace": 0.35, "robots": ["*1"], **later},
        {"kind": "manual", "mode": "semiautomatic", "pace": 0.6, "robots": "r2"},
        {"kind": "battery_fault", "charge_error": -0.15, "robots": "r[12]"},
        {"kind": "battery_fault", "charge_error": 0.4, "robots": ["r1", "r0"], **later},
    ]
    free, sim = hall([], robots=3), hall(entries, robots=3)
    plain, told = moved(free, 160), []
    rows = np.array([agent.row for agent in sim.agents])
    slow = []
    for steps in (60, 100):
        slow.append(moved(sim, steps)[-1])
        told.append(told_charge(sim.world, rows, np.full(3, 0.5)))
    assert slow[0] == pytest.approx(np.array([0.7, 0.35, 0.6]) * plain[59])
    assert slow[1] == pytest.approx(np.array([0.7, 0.7, 0.6]) * plain[159])
    assert told[0] == pytest.approx([0.9, 0.75, 0.35]) and told[1] == pytest.approx([0.5, 0.35, 0.35])
    with pytest.raises(ConfigError, match=r"robots: .*r9"):
        part(sim).begin("slow", robots="r9")


def test_a_robot_stands_in_exactly_its_interval() -> None:
    sim = hall([{"kind": "breakdown", "at": [2, 20.05], "lasts": 3, "robots": "r0"}])
    ways = moved(sim, 300)
    # The step that begins at 2.0 s is number 20; of 20.05 s it is the first after it.
    assert stops(ways[:, 0] == 0.0) == [(20, 50), (201, 231)]
    assert (ways[:, 1] > 0.0).all()
    assert part(sim).figures() == {"breakdown": {"events": 2, "disturbed_s": 6.0, "stood_robot_s": 6.0}}


def test_a_robot_that_has_lost_its_manager_drives_on_unless_it_should_not() -> None:
    later = {"kind": "silent", "at": 2, "lasts": 3}
    ways = moved(hall([{**later, "robots": "r0", "drives_on": False}, {**later, "robots": "r1"}]), 100)
    assert stops(ways[:, 0] == 0.0) == [(20, 50)] and (ways[:, 1] > 0.0).all()


def test_gaps_between_breakdowns_are_exponential_of_the_given_rate_and_repairs_are_as_told() -> None:
    gaps: list[float] = []
    repairs: list[float] = []
    for seed in range(6):
        sim = hall([{"kind": "breakdown", "per_hour": 60.0, "lasts": {"uniform": [5, 15]}}], 40, seed, timestep=1.0)
        for column in (moved(sim, 1000) == 0.0).T:
            found = stops(column)
            # Long gaps are cut off at the end; so only those count that begin early enough.
            early = [pair for pair in pairwise(found) if pair[0][1] < 500]
            gaps += [after[0] - before[1] for before, after in early]
            repairs += [end - begin for begin, end in found[:-1]]
    bound = 4.0 / np.sqrt(len(gaps))
    # Whole steps, rounded up: half of one more, on the mean.
    assert len(gaps) > 1000 and abs(np.mean(gaps) - 0.5 - 60.0) < bound * 60.0
    assert abs(np.std(gaps) - 60.0) < 2.0 * bound * 60.0
    assert abs(np.median(gaps) - 0.5 - 60.0 * np.log(2.0)) < 2.0 * bound * 60.0
    assert abs(np.mean(repairs) - 10.5) < 4.0 * 2.9 / np.sqrt(len(repairs)) and max(repairs) <= 15


def test_one_seed_is_one_run_and_entries_draw_for_themselves() -> None:
    one = {"kind": "breakdown", "per_hour": 100.0, "lasts": {"exponential": 10}}
    other = {"kind": "breakdown", "per_hour": 50.0, "lasts": 5, "robots": "r1"}
    first, again = moved(hall([one]), 1500), moved(hall([one]), 1500)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, moved(hall([one], seed=4), 1500))
    both = moved(hall([other, one]), 1500)
    assert np.array_equal(first[:, 0], both[:, 0]) and not np.array_equal(first[:, 1], both[:, 1])


def test_robots_of_an_area_break_down_in_it_only() -> None:
    area = [[50.0, -10.0], [150.0, -10.0], [150.0, 10.0], [50.0, 10.0]]
    sim = hall([{"kind": "breakdown", "per_hour": 1000.0, "lasts": 1, "area": area}], robots=2)
    ways = moved(sim, 1500)
    places = np.cumsum(ways, axis=0)
    stood = places[ways == 0.0]
    assert len(stood) > 100 and stood.min() >= 49.9 and stood.max() <= 150.1


def test_a_run_goes_on_from_a_state_as_it_would_have(tmp_path: Any) -> None:
    entries = [{"kind": "breakdown", "per_hour": 200.0, "lasts": {"normal": [10, 3]}}]
    sim = hall(entries)
    part(sim).begin("breakdown", robots="r1", lasts=40)
    moved(sim, 200)
    sim.save_state(tmp_path / "state")
    ways = moved(sim, 1000)
    again = hall(entries)
    again.load_state(tmp_path / "state")
    assert np.array_equal(ways, moved(again, 1000)) and part(sim).figures() == part(again).figures()


def test_the_traffic_drives_around_a_robot_that_broke_down_and_this_one_arrives_in_the_end() -> None:
    crowd = Crowd(site_of(HALL), 6, seed=6)
    crowd.roam()
    crowd.run(5.0)
    name = str(crowd.agents[0].name)
    entry = part(crowd.sim).begin("breakdown", robots=name, lasts=40)
    crowd.run(2.0)
    at, done = crowd.agents[0].get_pose().position, crowd.done
    crowd.run(37.0)
    assert crowd.agents[0].get_pose().position == at and crowd.done > done + 5
    crowd.run(20.0)
    assert crowd.agents[0].get_pose().position != at
    assert part(crowd.sim).active == [] and crowd.closest >= 0.0 and entry == "breakdown-1"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"kind": "brakedown"}, r"disturbances\[1\]\.kind: .*breakdown"),
        ({"kind": "breakdown", "at": -1}, r"disturbances\[1\]\.at: "),
        ({"kind": "breakdown", "at": "25:00"}, r"disturbances\[1\]\.at: "),
        ({"kind": "breakdown", "at": 5, "per_hour": 1}, r"disturbances\[1\].*per_hour: "),
        ({"kind": "breakdown", "per_hour": 0}, r"disturbances\[1\]\.per_hour: "),
        ({"kind": "breakdown", "lasts": {"uniform": [5, 1]}}, r"disturbances\[1\]\.lasts: "),
        ({"kind": "breakdown", "level": "bad"}, r"disturbances\[1\]\.level: "),
        ({"kind": "breakdown", "robots": ["r7"]}, r"disturbances\[1\]\.robots: "),
        ({"kind": "breakdown", "robots": []}, r"disturbances\[1\]\.robots: "),
        ({"kind": "breakdown", "area": [[0, 0], [1, 1]]}, r"disturbances\[1\]\.area: "),
        ({"kind": "breakdown", "stations": "pick_1"}, r"disturbances\[1\]\.stations: "),
        ({"kind": "breakdown", "color": "red"}, r"disturbances\[1\]\.color: "),
        ({"kind": "breakdown", "name": "breakdown_0"}, r"disturbances\[1\]\.name: "),
    ],
)
def test_a_bad_value_is_one_error_that_names_entry_and_field(entry: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        hall([{"kind": "breakdown", "at": 1}, entry])


def test_times_of_day_count_from_the_begin_of_the_shift() -> None:
    sim = hall([{"kind": "breakdown", "at": ["08:00:30", "08:01"], "day_starts": "08:00", "lasts": 2}], robots=1)
    assert stops(moved(sim, 700)[:, 0] == 0.0) == [(300, 320), (600, 620)]


def test_a_robot_that_breaks_down_is_refused_commands_for_that_reason_and_may_be_spared_and_removed() -> None:
    sim = hall([{"kind": "breakdown", "at": 1}])
    sim.remove_object(sim.agents[1])
    sim.features.give("disturbances", np.array([sim.agents[0].row]), {"spared": True})
    for _ in range(12):
        sim.step_once()
    assert part(sim).active == []
    sim = hall([{"kind": "breakdown", "at": 1, "description": "its battery leaks"}])
    for _ in range(12):
        sim.step_once()
    with pytest.raises(fs.StateError, match="its battery leaks"):
        send(sim.agents[0])
    sim.remove_object(sim.agents[1])
    assert [event.target for event in part(sim).active] == ["r0"]
    part(sim).end("breakdown_0")
    sim.step_once()
    send(sim.agents[0])


def test_what_disturbances_cost_is_what_poses_and_events_say() -> None:
    sim = hall([{"kind": "breakdown", "per_hour": 200.0, "lasts": {"uniform": [1, 9]}}, {"kind": "slow", "at": 5}])
    began: list[tuple[str, str, float]] = []
    sim.events.on("disturbance_began", lambda id, kind, target: began.append((kind, target, sim.sim_time)))
    open_since: dict[tuple[str, str], float] = {}
    ends: list[float] = []
    sim.events.on("disturbance_began", lambda id, kind, target: open_since.update({(kind, target): sim.sim_time}))
    sim.events.on(
        "disturbance_ended", lambda id, kind, target: ends.append(sim.sim_time - open_since.pop((kind, target)))
    )
    stood = 0.1 * np.count_nonzero(moved(sim, 1200) == 0.0)
    lasted = sum(ends) + sum(120.0 - since for (kind, _), since in open_since.items() if kind == "breakdown")
    ((_, columns, rows),) = cost_tables(sim)
    assert columns == ("kind", "events", "lasted, s", "robots stood, s")
    count = sum(kind == "breakdown" for kind, _, _ in began)
    assert rows[0] == ("breakdown", count, pytest.approx(lasted, abs=0.01), pytest.approx(stood, abs=0.01))
    assert rows[1][:3] == ("slow", 2, pytest.approx(2 * 115.0))
    assert cost_tables(hall([])) == []


def test_a_recorded_run_is_repeated_with_what_was_begun_and_ended_in_it() -> None:
    def run(log: fs.CommandLog | None) -> str:
        sim = hall([{"kind": "breakdown", "per_hour": 100.0, "lasts": 3}])
        if log is not None:
            fs.replay_commands(sim, log)
            while sim.step_count < 200:
                sim.step_once()
            return sim.state_hash()
        logs.append(fs.record_commands(sim))
        for _ in range(50):
            sim.step_once()
        name = part(sim).begin("slow", pace=0.3)
        for _ in range(50):
            sim.step_once()
        part(sim).end(name)
        for _ in range(100):
            sim.step_once()
        return sim.state_hash()

    logs: list[fs.CommandLog] = []
    wanted = run(None)
    assert len(logs[0].entries) == 2 and run(logs[0]) == wanted


def test_a_name_that_looks_like_a_pattern_is_a_name_too() -> None:
    robots = [{"name": name, "pose": [0.0, y, 0.1]} for y, name in enumerate(("r[7]", "r7", "r8"))]
    slow = [{"kind": "slow", "robots": ["r[7]"], "pace": 0.5, "at": 0.0}]
    with fs.MultiRobotSimulationCore.from_dict(
        {"simulation": {"gui": False}, "robots": robots, "disturbances": slow}
    ) as sim:
        for agent in sim.agents:
            send(agent)
        sim.run_simulation(duration=3.0)
        ways = [agent.get_pose().x for agent in sim.agents]
    assert ways[0] == ways[1] < ways[2]
