"""Spawners: where, when, how many, which way they look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import ConfigError
from fleet_sim.swarm.swarm_state import Region
from fleet_sim.swarm.world import RectangularWorld

AGENT = {"type": "MazeAgent", "agent_radius": 0.1, "angle": 0.5}


def spawned(**spawner: Any) -> RectangularWorld:
    world = RectangularWorld({"size": [10, 10], "spawners": [{"agent": AGENT, **spawner}]})
    world.setup()
    return world


def test_uniform_fills_the_region_and_keeps_out_of_its_holes() -> None:
    region, hole = [[1, 1], [9, 1], [5, 9]], [[4, 2], [6, 2], [6, 5], [4, 5]]
    places = spawned(type="UniformAgentSpawner", n=500, region=region, holes=[hole]).everyone.positions
    assert len(places) == 500
    assert Region(region).contains(places).all()
    assert not Region(hole).contains(places).any()
    # Evenly: the lower half of the triangle's height holds three quarters of its area.
    below = np.count_nonzero(places[:, 1] < 5.0)
    expected = (24.0 - 6.0) / (32.0 - 6.0)
    assert abs(below / 500 - expected) < 0.07


TRIANGLE = np.array([[1.0, 1.0], [9.0, 2.0], [4.0, 5.0]])


def of_box(width: float, height: float) -> np.ndarray:
    return np.diag([width * width, height * height]) / 12.0


def of_ring(inner: float, outer: float) -> np.ndarray:
    return 0.25 * (inner * inner + outer * outer) * np.eye(2)


@pytest.mark.parametrize(
    ("spawner", "middle", "mean", "covariance"),
    [
        # As far from the walls as the disc needs.
        ({"type": "uniform"}, (7.0, 3.0), (7.0, 3.0), of_box(13.8, 5.8)),
        ({"type": "uniform", "region": [[2, 5], [5.5, 1]]}, (3.75, 3.0), (3.75, 3.0), of_box(3.5, 4.0)),
        (
            {"type": "uniform", "region": TRIANGLE.tolist()}, (5.0, 3.0), TRIANGLE.mean(axis=0),
            (TRIANGLE.T @ TRIANGLE - 3.0 * np.outer(TRIANGLE.mean(axis=0), TRIANGLE.mean(axis=0))) / 12.0,
        ),
        ({"type": "DonutAgentSpawner"}, (5.0, 5.0), (5.0, 5.0), of_ring(4.0, 6.0)),
        ({"type": "donut", "center": [9, 2.5], "inner": 0.7, "outer": 1.9}, (9, 2.5), (9, 2.5), of_ring(0.7, 1.9)),
        ({"type": "circle", "radius": 1.3}, (7.0, 3.0), (7.0, 3.0), of_ring(0.0, 1.3)),
        ({"type": "circle", "center": [2, 3.5], "radius": 0.5}, (2.0, 3.5), (2.0, 3.5), of_ring(0.0, 0.5)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("facing", ["towards", "away"])
def test_positions_are_even_over_their_region_and_headings_are_from_its_middle(
    spawner: dict[str, Any], middle: Any, mean: Any, covariance: np.ndarray, facing: str
) -> None:
    count = 800
    world = RectangularWorld({"size": [14, 6], "spawners": [{"agent": AGENT, "n": count, "facing": facing, **spawner}]})
    world.setup()
    places, headings = world.everyone.positions, world.everyone.headings
    # Four standard deviations, and what the fourth moments of such shapes allow.
    assert np.abs(places.mean(axis=0) - mean).max() < 4.0 * np.sqrt(covariance.max() / count)
    assert np.abs(np.cov(places.T) - covariance).max() < 5.0 * covariance.max() / np.sqrt(count)
    sides = np.arctan2(*(places - mean).T[::-1])
    assert np.histogram(sides, 4, (-np.pi, np.pi))[0].min() > 0.1 * count
    ways = (np.array(middle) - places) @ [1, 1j]
    assert np.exp(1j * headings) == pytest.approx(ways / np.abs(ways) * (1.0 if facing == "towards" else -1.0))
    for side in (0, 1):
        if spawner == {"type": "uniform"}:
            assert 0.1 <= places[:, side].min() < 0.3 and 0.1 <= world.size[side] - places[:, side].max() < 0.3


def test_grid_and_point_and_fixed() -> None:
    grid = spawned(type="grid", n=6, columns=3, spacing=0.5).everyone.positions
    assert grid.tolist() == [[4.5, 4.75], [5.0, 4.75], [5.5, 4.75], [4.5, 5.25], [5.0, 5.25], [5.5, 5.25]]
    square = spawned(type="grid", n=5, spacing=0.5, center=[2, 3]).everyone.positions
    assert square.tolist() == [[1.5, 2.75], [2.0, 2.75], [2.5, 2.75], [1.5, 3.25], [2.0, 3.25]]
    assert spawned(type="point", n=2, position=[1, 2]).everyone.positions.tolist() == [[1, 2], [1, 2]]
    fixed = spawned(type="fixed", positions=[[1, 2], [3, 4]], angles=[0.0, 1.0]).everyone
    assert fixed.positions.tolist() == [[1, 2], [3, 4]]
    assert fixed.headings == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("kind", ["uniform", "circle", "donut", "point"])
def test_avoid_overlap(kind: str) -> None:
    world = spawned(type=kind, n=20, avoid_overlap=True)
    x, y = world.everyone.positions.T
    distances = np.hypot(x[:, None] - x, y[:, None] - y)[np.triu_indices(20, 1)]
    assert distances.min() >= 0.2


def test_no_room_is_said() -> None:
    with pytest.raises(ConfigError, match=r"found room for \d+ of 100 agents of radius 0.1 m; make the region"):
        spawned(type="circle", n=100, radius=0.5, avoid_overlap=True)


def test_what_is_wrong_with_an_agent_is_said_with_the_spawner_it_comes_from() -> None:
    agent = {"type": "MazeAgent", "controller": {"type": "binary", "a": [0.1], "b": [0.1, 0.2]}}
    spawners = [{"type": "point", "n": 1, "agent": "MazeAgent"}, {"type": "point", "n": 1, "agent": agent}]
    with pytest.raises(ConfigError, match=r"^spawners\[1\]: BinaryController: a: expected numbers of shape \(2\)"):
        RectangularWorld({"spawners": spawners}).setup()


def test_no_room_for_very_many_is_said_before_they_are_compared() -> None:
    with pytest.raises(ConfigError, match=r"found room for 0 of 1000000 agents of radius 0.1 m; make the region"):
        spawned(type="circle", n=1_000_000, radius=2.0, avoid_overlap=True)


@pytest.mark.parametrize(
    ("facing", "expected"),
    [(None, 0.5), (1.25, 1.25), ([1, 9], np.pi / 2), ("towards", np.pi / 4), ("away", -3 * np.pi / 4)],
)
def test_facing(facing: Any, expected: float) -> None:
    corner = [[0.9, 0.9], [1.1, 0.9], [1.0, 1.1]]
    world = spawned(type="fixed", positions=[[1, 1], [9, 9]], facing=facing)
    assert world.everyone.headings[0] == pytest.approx(expected)
    headings = spawned(type="uniform", n=200, region=corner, facing="random").everyone.headings
    assert headings.min() < -2.5 and headings.max() > 2.5


@pytest.mark.parametrize("kind", ["uniform", "circle", "donut", "point", "grid"])
def test_none_at_all_can_be_asked_for(kind: str) -> None:
    assert not spawned(type=kind, n=0).population and not spawned(type=kind, n=0, avoid_overlap=True).population


def test_one_shot_can_be_said_as_a_flag() -> None:
    world = spawned(type="uniform", n=2, oneshot=True)
    world.evaluate(2)
    assert len(world.population) == 2 and not world.spawners
    with pytest.raises(ConfigError, match="oneshot: true does not go with mode 'repeat'"):
        spawned(type="uniform", n=2, oneshot=True, mode="repeat")


def test_one_shot_delayed_and_repeated() -> None:
    world = RectangularWorld(
        {
            "time_step": 0.1,
            "spawners": [
                {"type": "uniform", "agent": AGENT, "n": 3},
                {"type": "uniform", "agent": AGENT, "n": 5, "delay": 0.3},
                {"type": "uniform", "agent": AGENT, "n": 1, "mode": "repeat", "interval": 0.2, "times": 3},
            ],
        }
    )
    world.setup()
    counts = [len(world.population)]
    for _ in range(8):
        world.step()
        counts.append(len(world.population))
    assert counts == [4, 4, 4, 5, 10, 11, 11, 11, 11]
    assert world.spawners == []


def test_a_spawner_of_its_own_seed_draws_the_same_in_every_world() -> None:
    def places(world_seed: int, **own: Any) -> list[Any]:
        world = RectangularWorld({"seed": world_seed, "spawners": [{"type": "uniform", "agent": AGENT, "n": 3, **own}]})
        world.setup()
        return world.everyone.positions.tolist()

    assert places(1) == places(1) != places(2)
    assert places(1, seed=7) == places(2, seed=7) != places(1)


def test_csv(tmp_path: Path) -> None:
    table = tmp_path / "agents.csv"
    table.write_text("x, y, angle, team, name\n1, 2, , red, anna\n3, 4, 1.5, , \n", encoding="utf-8")
    world = spawned(type="csv", file=str(table))
    assert world.everyone.positions.tolist() == [[1, 2], [3, 4]]
    assert [agent.team for agent in world.population] == ["red", None]
    assert [agent.name for agent in world.population] == ["anna", "agent_0"]
    assert world.everyone.headings == pytest.approx([0.5, 1.5])
    table.write_text("x,y,angel\n1,2,3\n", encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"spawners\[0\].*agents.csv, line 2: angel: unknown key. Did you mean 'angle'"
    ):
        spawned(type="csv", file=str(table))


@pytest.mark.parametrize(
    ("spawner", "message"),
    [
        ({"type": "uniforn"}, "unknown spawner 'uniforn'. Did you mean 'uniform'"),
        ({"type": "uniform", "regions": []}, "unknown parameter 'regions'. Did you mean 'region'"),
        ({"type": "donut", "mode": "always"}, "mode: unknown name 'always'. Known: oneshot, repeat"),
        ({"type": "donut", "facing": "outwards"}, "unknown way 'outwards'"),
        ({"type": "donut", "inner": 7}, r"outer: must be at least inner \(7 m\), got 6"),
        ({"type": "uniform", "region": [[0, 0]]}, "a polygon has three corners or more, got 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(spawner: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"spawners\[0\]: .*{message}"):
        spawned(**spawner)


def crowded(**spawner: Any) -> MultiRobotSimulationCore:
    """Return a simulation in which faults are survived, with more agents than there is room for."""
    full = {
        "type": "uniform",
        "region": [[1, 1], [1.4, 1.4]],
        "n": 40,
        "avoid_overlap": True,
        "agent": AGENT,
        **spawner,
    }
    config = {
        "simulation": {"gui": False, "monitor": False, "target_rtf": 0},
        "swarm": {"size": [10, 10], "spawners": [full]},
    }
    return MultiRobotSimulationCore.from_dict(config)


def test_a_scenario_that_begins_without_room_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"swarm.spawners\[0\]: UniformAgentSpawner: found room for"):
        crowded()


@pytest.mark.parametrize(("mode", "faults"), [({}, 1), ({"mode": "repeat", "interval": 0.5, "times": 2}, 2)])
def test_later_spawns_without_room_are_tried_when_they_are_due_and_counted(mode: dict[str, Any], faults: int) -> None:
    with crowded(delay=0.1, **mode) as sim:
        for _ in range(100):
            sim.step_once()
        assert dict(sim.guard.counts) == {"spawner": faults}
        assert not sim.agents


@pytest.mark.parametrize("kind", ["UniformAgentSpawner", "GridAgentSpawner", "DonutAgentSpawner", "FixedAgentSpawner"])
def test_a_position_of_agents_that_a_spawner_places_is_refused(kind: str) -> None:
    agent = {"type": "MazeAgent", "position": [1, 1]}
    more = {"positions": [[2, 2]]} if kind == "FixedAgentSpawner" else {"n": 1}
    world = RectangularWorld({"spawners": [{"type": kind, "agent": agent, **more}]})
    with pytest.raises(ConfigError, match=r"agent\.position: this spawner chooses the positions of its agents"):
        world.setup()


def test_a_position_counts_where_a_spawner_has_none() -> None:
    agent = {"type": "MazeAgent", "position": [1, 2]}
    assert spawned(type="PointAgentSpawner", n=1, agent=agent).everyone.positions.tolist() == [[1.0, 2.0]]
    world = RectangularWorld({"spawners": [{"type": "PointAgentSpawner", "agent": agent, "position": [2, 2]}]})
    with pytest.raises(ConfigError, match="position: is given twice"):
        world.setup()


def test_a_position_beside_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    spawner = {
        "type": "CsvAgentSpawner",
        "agent": {"type": "MazeAgent", "position": [1, 1]},
        "file": tmp_path / "a.csv",
    }
    with pytest.raises(ConfigError, match=r"agent\.position: the columns x and y say where agents are"):
        RectangularWorld({"spawners": [spawner]}).setup()
