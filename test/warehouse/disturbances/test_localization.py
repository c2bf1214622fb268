"""Robots that are wrong about where they are: true, planned and told poses, held against a run without errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from master_control import line
from networks import HALL, site_of
from vehicle_bench import VehicleBench, scenario

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.arrays import Floats
from fleet_sim.world.commands import Navigate, SetPoses

DT = 0.1
STILL = (0.0, 0.0, 0.0, 1.0)


def fleet(*disturbances: dict[str, Any], robots: int = 3, seed: int = 1) -> MultiRobotSimulationCore:
    """Robots r0, r1, ... far from each other that drive at 1 m/s."""
    drive = {"type": "omni", "max_linear_vel": 1.0}
    return MultiRobotSimulationCore.from_dict(
        {
            "simulation": {"timestep": DT, "monitor": False, "gui": False, "seed": seed, "target_rtf": 0},
            "robots": [{"name": f"r{i}", "pose": [0.0, 5.0 * i, 0.0], "controller": drive} for i in range(robots)],
            "disturbances": [{"kind": "localization", **entry} for entry in disturbances],
        }
    )


def go(sim: MultiRobotSimulationCore, x: float) -> None:
    """Send all robots along their lines."""
    goals = [(x, agent.get_pose().position[1], 0.0) for agent in sim.agents]
    names = tuple(agent.name or "" for agent in sim.agents)
    ends = [(x, 5.0 * index, 0.0) for index in range(len(goals))]
    sim.inbox.put(Navigate(names=names, positions=ends, orientations=[STILL] * len(goals)))


def run(sim: MultiRobotSimulationCore, steps: int) -> tuple[Floats, Floats]:
    """Make steps; return true and believed places (T, N, 2) after each."""
    rows = np.array([agent.row for agent in sim.agents])
    true, told = [], []
    for _ in range(steps):
        sim.step_once()
        true.append(sim.world.position[rows, :2].copy())
        told.append(sim.world.believed_poses(rows)[0][:, :2])
    return np.array(true), np.array(told)


def test_a_jump_is_told_at_once_and_driven_back_slowly() -> None:
    sim, plain = fleet({"robots": ["r1"], "jump": 0.3, "at": 2.0, "lasts": 6.0}), fleet()
    for one in (sim, plain):
        go(one, 20.0)
    (true, told), (planned, _) = run(sim, 220), run(plain, 220)
    assert (true[:20] == planned[:20]).all() and (told[:20] == planned[:20]).all()
    for other in (0, 2):
        assert true[:, other].tobytes() == planned[:, other].tobytes()
    off, wrong = true[:, 1] - planned[:, 1], told[:, 1] - true[:, 1]
    size = np.linalg.norm(off, axis=1)
    assert np.linalg.norm(wrong[20:80], axis=1) == pytest.approx(0.3)
    assert (wrong[80:] == 0.0).all(), "then it knows where it is"
    # Back at 0.2 m/s to where it believes its way is: the truth moves away from what was planned, by the error.
    assert size[20:80] == pytest.approx(np.minimum(0.02 * np.arange(1, 61), 0.3))
    assert off[79] == pytest.approx(-wrong[40])
    assert told[79, 1] == pytest.approx(planned[79, 1])
    assert size[80:] == pytest.approx(np.maximum(0.3 - 0.02 * np.arange(1, 141), 0.0), abs=1e-12)
    assert (true[-1] == [[20.0, 0.0], [20.0, 5.0], [20.0, 10.0]]).all(), "and arrives exactly"


def test_noise_and_drift_have_the_deviations_that_are_asked_for() -> None:
    count, steps = 100, 200
    sim = fleet({"noise": 0.02, "most": 1.0}, robots=count)
    true, told = run(sim, steps)
    assert (true == true[0]).all(), "robots that stand do not move"
    errors = ((told - true) / 0.02).reshape(-1)
    assert abs(errors.mean()) < 4.0 / np.sqrt(len(errors))
    assert abs(errors.var() - 1.0) < 4.0 * np.sqrt(2.0 / len(errors))
    assert abs((np.abs(errors) < 1.0).mean() - 0.6827) < 4.0 * np.sqrt(0.22 / len(errors))
    sim = fleet({"drift": 0.02, "most": 10.0}, robots=count)
    true, told = run(sim, steps)
    for at in (50, 200):
        spread = (told - true)[at - 1].reshape(-1).var() / (0.02**2 * at * DT)
        assert abs(spread - 1.0) < 4.0 * np.sqrt(2.0 / (2 * count)), at
    sim = fleet({"drift_per_metre": 0.02, "most": 10.0, "correction": 0.0}, robots=count)
    go(sim, 10.0)
    true, told = run(sim, steps)
    wrong = (told - true)[-1]
    assert abs(wrong.reshape(-1).var() / (0.02**2 * 10.0) - 1.0) < 4.0 * np.sqrt(2.0 / (2 * count))
    assert (true[-1, :, 0] == 10.0).all(), "without a correction only what is told is wrong"


def test_no_error_is_larger_than_stated() -> None:
    most = 0.1
    sim, plain = (
        fleet(*trouble, robots=20) for trouble in (({"noise": 0.1, "drift": 0.3, "bias": 0.05, "most": most},), ())
    )
    for one in (sim, plain):
        go(one, 30.0)
    (true, told), (planned, _) = run(sim, 250), run(plain, 250)
    for pair in ((told, true), (true, planned)):
        far = np.linalg.norm(pair[0] - pair[1], axis=2)
        assert far.max() <= most * (1.0 + 1e-9) and far.max() > 0.95 * most


def test_a_later_disturbance_has_bounds_of_its_own() -> None:
    wide = {"bias": 0.4, "most": 0.9, "correction": 3.0, "at": 0.0, "lasts": 4.0}
    sim = fleet(wide, {"drift": 0.5, "most": 0.11, "correction": 0.05, "at": 8.0}, robots=7)
    go(sim, 60.0)
    true, told = run(sim, 200)
    wrong = np.linalg.norm(told - true, axis=2)
    assert wrong[:39] == pytest.approx(0.4)
    assert 0.1 < wrong[80:].max() <= 0.11 + 1e-9
    sideways = np.abs(np.diff(true[80:, :, 1], axis=0)) / DT
    assert sideways.max() == pytest.approx(0.05, rel=0.01)


def test_robots_of_the_traffic_keep_apart_by_what_their_errors_leave() -> None:
    most = 0.05
    crowds = [Crowd(site_of(HALL), 12, seed=3) for _ in range(2)]
    crowds[1].sim.features.use("disturbances").begin("localization", drift=0.05, bias=0.03, most=most)
    places = []
    for crowd in crowds:
        crowd.roam()
        rows = np.array([agent.row for agent in crowd.agents])
        kept = []
        for _ in range(600):
            crowd.sim.step_once()
            kept.append(crowd.sim.world.position[rows, :2].copy())
        places.append(np.array(kept))
    planned, true = places
    off = np.linalg.norm(true - planned, axis=2)
    assert most * 0.9 < off.max() <= most * (1.0 + 1e-9)
    assert crowds[0].done == crowds[1].done > 20
    apart = [np.linalg.norm(one[:, :, None] - one[:, None], axis=3) + 9.0 * np.eye(12) for one in places]
    assert apart[1].min() >= apart[0].min() - 2.0 * most - 1e-9


def test_a_robot_that_is_put_elsewhere_stays_wrong_by_as_much() -> None:
    sim = fleet({"robots": ["r0"], "bias": 0.2})
    go(sim, 5.0)
    run(sim, 80)
    sim.inbox.put(SetPoses(names=("r0",), positions=[[1.0, 1.0, 0.0]], orientations=[STILL]))
    (true,), (told,) = run(sim, 1)
    assert (true[0] == [1.0, 1.0]).all()
    assert np.linalg.norm(told[0] - true[0]) == pytest.approx(0.2)


def test_a_restored_run_and_one_of_the_same_seed_are_equal() -> None:
    trouble = {"noise": 0.01, "drift": 0.02, "jump": 0.1, "per_hour": 600.0, "lasts": {"uniform": [1.0, 3.0]}}
    sim, again, other = fleet(trouble), fleet(trouble), fleet(trouble, seed=2)
    for one in (sim, again, other):
        go(one, 20.0)
    run(sim, 60)
    saved = sim.save_state()
    results = [run(one, steps)[1][-1].tobytes() for one, steps in ((sim, 60), (again, 120), (other, 120))]
    assert results[0] == results[1] != results[2]
    assert sim.state_hash() == again.state_hash()
    sim.restore_state(saved)
    assert run(sim, 60)[1][-1].tobytes() == results[0]


def test_a_lost_vehicle_stands_says_so_and_refuses_orders() -> None:
    bench = VehicleBench(scenario(disturbances=[{"kind": "localization", "lost": True, "at": 2.0, "lasts": 3.0}]))
    order = line("o", [(0.0, 0.0), (5.0, 0.0)])
    assert bench.order(order) == {}
    while bench.sim.clock.time < 1.95:
        bench.sim.step_once()
    state = bench.state()
    assert state["driving"] and state["agvPosition"]["positionInitialized"]
    assert state["agvPosition"]["localizationScore"] == 1.0 and state["agvPosition"]["deviationRange"] == 0.0
    for _ in range(15):
        bench.sim.step_once()
    state = bench.state()
    assert not state["driving"]
    assert not state["agvPosition"]["positionInitialized"] and state["agvPosition"]["localizationScore"] == 0.0
    assert "it does not know where it is" in [error["errorDescription"] for error in state["errors"]]
    more = line("o", [(5.0, 0.0), (6.0, 0.0)], update=1, first=1)
    assert "does not know where it is" in bench.order(more)["a"]
    while bench.sim.clock.time < 12.0:
        bench.sim.step_once()
    state = bench.state()
    assert state["agvPosition"]["positionInitialized"] and state["lastNodeId"] == "n1", "it goes on by itself"


def test_a_vehicle_tells_what_it_believes_and_how_well_it_knows_that() -> None:
    bench = VehicleBench(scenario(disturbances=[{"kind": "localization", "bias": 0.2, "noise": 0.01, "most": 0.5}]))
    for _ in range(10):
        bench.sim.step_once()
    state = bench.state()["agvPosition"]
    x, y, _ = bench.vehicle.agent.get_pose().position
    assert np.hypot(state["x"] - x, state["y"] - y) == pytest.approx(0.2, abs=0.05)
    (told,), _ = bench.sim.world.believed_poses(np.array([bench.vehicle.row]))
    assert (state["x"], state["y"]) == pytest.approx((told[0], told[1]), abs=1e-5)
    # Twice the deviation of the noise; of its bias it knows nothing.
    assert state["deviationRange"] == pytest.approx(0.02) and state["localizationScore"] == pytest.approx(0.96)
