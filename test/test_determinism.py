"""One configuration and one seed: the same state at every step, however it came about."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import pytest
from hashed_run import hashed_run

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
BOX = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
COUNT = 40


def params(index: int) -> fs.AgentSpawnParams:
    mode = ("omnidirectional", "differential")[index % 2]
    return fs.AgentSpawnParams(
        visual_shape=BOX,
        collision_shape=BOX,
        name=f"r{index}",
        motion_mode=mode,
        max_linear_vel=1.0 + 0.1 * (index % 3),
        initial_pose=fs.Pose.from_yaw(1.5 * (index % 8), 1.5 * (index // 8), 0, 0.37 * index),
    )


def command(sim: Sim) -> None:
    """Give every robot something to do, by name."""
    for index in range(COUNT):
        agent = sim.get_object(f"r{index}")
        goal = fs.Pose.from_yaw(6 + 5 * ((index * 7) % 11 - 5) / 5, 4 + (index * 5) % 9 - 4, 0, index)
        if index % 4 == 0:
            agent.add_action_sequence([fs.Wait(0.1 * index), fs.MoveTo(goal)])
        elif index % 4 == 1:
            agent.set_goal(goal)
        elif index % 4 == 2:
            agent.set_path([goal, fs.Pose.from_yaw(index, 0, 0, 0), fs.Pose.from_yaw(0, index, 0, 1)])
        else:
            agent.set_velocity(0.5, wz=0.1 * index, timeout=2.0)

    def wander(sim: Sim, dt: float) -> None:
        x, y = sim.world.random.stream("wander").random(2) * 9
        sim.get_object("r1").set_goal(fs.Pose.from_xyz(x, y, 0))

    sim.register_callback(wander, 1.5)


def fleet(sim: Sim, order: Sequence[int] = range(COUNT)) -> Sim:
    sim.spawn_all([params(index) for index in order])
    command(sim)
    return sim


def hashes(sim: Sim, steps: int = 80) -> list[str]:
    return [sim.state_hash(), *hashed_run(sim, steps)]


@pytest.fixture
def expected(make_sim: MakeSim) -> list[str]:
    """Return the states of the reference run."""
    states = hashes(fleet(make_sim(seed=3)))
    assert len(set(states)) == len(states)
    return states


def test_a_run_repeats(make_sim: MakeSim, expected: list[str]) -> None:
    assert hashes(fleet(make_sim(seed=3))) == expected


def test_another_seed_is_another_run(make_sim: MakeSim, expected: list[str]) -> None:
    other = hashes(fleet(make_sim(seed=4)))
    assert other[0] == expected[0]
    assert other[-1] != expected[-1]


def test_one_by_one_is_as_in_one_batch(make_sim: MakeSim, expected: list[str]) -> None:
    sim = make_sim(seed=3)
    for index in range(COUNT):
        sim.spawn(params(index))
    command(sim)
    assert hashes(sim) == expected


@pytest.mark.parametrize("order", [range(COUNT)[::-1], [*range(1, COUNT, 2), *range(0, COUNT, 2)]])
def test_the_order_of_spawning_does_not_matter(make_sim: MakeSim, order: Sequence[int], expected: list[str]) -> None:
    assert hashes(fleet(make_sim(seed=3), order)) == expected


def test_rows_used_before_do_not_matter(make_sim: MakeSim, expected: list[str]) -> None:
    sim = make_sim(seed=3)
    extra = [sim.spawn(fs.AgentSpawnParams(name=f"x{index}")) for index in range(100)]
    sim.remove_objects(extra[::3])
    sim.remove_objects([agent for agent in extra if agent.is_alive])
    assert hashes(fleet(sim)) == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"pose_flush": "step"},
        {"collision_check_frequency": 0},
        {"spatial_hash_cell_size_mode": "constant", "spatial_hash_cell_size": 3.0},
        {"keep_initial_state": False},
        {"enable_time_profiling": True},
    ],
)
def test_what_only_watches_changes_nothing(make_sim: MakeSim, settings: dict[str, Any], expected: list[str]) -> None:
    if "pose_flush" in settings:
        pytest.importorskip("pybullet")
    assert hashes(fleet(make_sim(seed=3, **settings))) == expected


def test_the_speed_of_the_run_changes_nothing(make_sim: MakeSim, expected: list[str]) -> None:
    for rtf in (0.0, 100.0):
        sim, states = fleet(make_sim(seed=3, target_rtf=rtf)), []
        sim.run_simulation(8.0, lambda sim, dt, states=states: states.append(sim.state_hash()))
        assert states == expected[1:]


def test_readers_in_other_threads_change_nothing(make_sim: MakeSim, expected: list[str]) -> None:
    sim, states, read = fleet(make_sim(seed=3)), [], []
    sim.snapshots.subscribe()
    run = Thread(target=lambda: sim.run_simulation(8.0, lambda sim, dt: states.append(sim.state_hash())))
    run.start()
    while run.is_alive():
        snapshot = sim.snapshots.latest
        if snapshot is not None and (not read or snapshot is not read[-1]):
            read.append(snapshot)
    run.join()
    assert states == expected[1:]
    assert len(read[-1].names) == COUNT
    assert [snapshot.tick for snapshot in read] == sorted({snapshot.tick for snapshot in read})
    with pytest.raises(ValueError, match="read-only"):
        read[-1].positions[0] = 0


LAWS = """
import sys
import fleet_sim as fs

class Still:
    def __init__(self, name):
        self.name = name
    def step(self, world, rows, dt):
        return rows[:0]

for name in sys.argv[1:]:
    fs.register_motion_law(name, Still(name))
with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
    for name in ("hop", "skip"):
        sim.spawn(fs.AgentSpawnParams(name=name, motion_mode=name))
    sim.step_once()
    print(sim.state_hash())
"""


def test_the_hash_does_not_depend_on_the_order_in_which_laws_were_registered() -> None:
    hashes = set()
    for names in (["hop", "skip"], ["skip", "jump", "hop"]):
        command = [sys.executable, "-c", LAWS, *names]
        hashes.add(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert len(hashes) == 1
