"""How episodes of environments begin, and what they look like, by other means."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from oracle_rows import holds
from small_bins import small_bin

from fleet_sim import FleetSimError
from fleet_sim.learning.envs import FleetWarehouse, Franka0Env, Franka2Env, NavigationVectorEnv
from fleet_sim.learning.envs.franka import downsampled
from fleet_sim.learning.envs.shared import ArenaCanvas

SPACING = 2.0 * 0.3 + 0.25
"""Between the middles of two bodies, as the documents say: the larger radius on both sides, and 0.25 m."""


def apart(points: np.ndarray, others: np.ndarray | None = None) -> float:
    """Return the least distance between two of `points` (N,), or between one of them and one of `others`."""
    gaps = np.abs(points[:, None] - (points if others is None else others))
    return float((gaps + 99.0 * np.eye(len(points)) if others is None else gaps).min())


@holds("env:FleetSim/Navigation-v0.reset", fault="learning/envs/arena.py: points lie from -size / 2 to 0")
@pytest.mark.parametrize("worlds", [1, 60])
def test_episodes_begin_anywhere_with_room_around(worlds: int) -> None:
    size, robots, obstacles = 6.3, 2, 3
    settings = {"num_robots": robots, "num_obstacles": obstacles, "arena_size": size}
    found: dict[str, list[complex]] = {"robots": [], "goals": [], "obstacles": []}
    angles: list[float] = []
    # Of 60 worlds episodes are begun by compiled code.
    envs = NavigationVectorEnv(worlds * robots, **settings)
    for seed in range(180 // worlds):
        envs.reset(seed=1000 * seed)
        task = envs.task
        for world in range(worlds):
            places = task.arena.positions[world] @ [1, 1j]
            goals, walls = task.goals[world] @ [1, 1j], task.arena.obstacles[world] @ [1, 1j]
            assert min(apart(places), apart(goals), apart(walls)) >= SPACING
            assert min(apart(places, walls), apart(goals, walls)) >= SPACING
            assert np.abs(task.distances[world] - np.abs(goals - places)).max() < 1e-12
            for name, points in (("robots", places), ("goals", goals), ("obstacles", walls)):
                found[name] += points.tolist()
        angles += task.arena.robots.headings.ravel().tolist()
        # World k has the seed plus k.
        if worlds > 1 and not seed:
            first = task.arena.positions[3].copy()
            envs.reset(seed=3)
            np.testing.assert_allclose(envs.task.arena.positions[0], first, atol=1e-9)
    for points in map(np.array, found.values()):
        for along in (points.real, points.imag):
            # Uniform, but pushed outwards a little by the room that is kept.
            assert abs(along.mean()) < 4.0 * size / math.sqrt(12 * len(along))
            assert size / math.sqrt(12) * 0.95 < along.std() < size / math.sqrt(12) * 1.2
            assert -size / 2 <= along.min() < -0.45 * size and 0.45 * size < along.max() <= size / 2
    assert abs(np.exp(1j * np.array(angles)).mean()) < 4.0 / math.sqrt(len(angles))
    assert min(angles) < -3.1 and max(angles) > 3.1
    envs.close()


@holds("env:FleetSim/Navigation-v0.reset", fault="learning/envs/tasks.py: worlds with too few draws keep what they had")
def test_crowded_worlds_have_room_between_all_too() -> None:
    # So full that many places are drawn again, and some worlds need more draws than are made ahead.
    envs = NavigationVectorEnv(150, num_obstacles=6, arena_size=2.6)
    envs.reset(seed=7)
    envs.step(np.zeros((150, 2), np.float32))
    before = envs.task.goals.copy()
    envs.reset(seed=400)
    arena, goals = envs.task.arena, envs.task.goals @ [1, 1j]
    room = [
        min(apart(walls), apart(robots, walls), apart(goal, walls))
        for robots, goal, walls in zip(arena.positions @ [1, 1j], goals, arena.obstacles @ [1, 1j], strict=True)
    ]
    # After 200 misses in a row its square shrinks by a fifth.
    assert min(room) >= 0.8 * SPACING and np.mean(np.array(room) >= SPACING) > 0.9
    assert (np.abs(envs.task.goals - before).max(axis=(1, 2)) > 1e-6).all()
    envs.close()


@holds("env:FleetSim/Navigation-v0.reset", fault="learning/envs/vector.py: all but the robots of a mask begin anew")
def test_robots_of_a_mask_begin_anew_among_those_that_stay() -> None:
    envs = NavigationVectorEnv(6, num_robots=2, num_obstacles=3, arena_size=6.3)
    envs.reset(seed=4)
    for _ in range(5):
        envs.step(np.full((6, 2), 0.7, np.float32))
    task = envs.task

    def places() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return tuple(np.array(part) @ [1, 1j] for part in (task.arena.positions, task.goals, task.arena.obstacles))

    before = places()
    envs.reset(options={"reset_mask": np.array([True, False, True, True, False, False])})
    after = places()
    moved = [[True, False], [True, True], [False, False]]
    for old, new in zip(before[:2], after[:2], strict=True):
        assert ((np.abs(new - old) > 1e-9) == moved).all()
    # A world in which all begin has other obstacles, too.
    assert (np.abs(after[2] - before[2]) > 1e-9).any(axis=1).tolist() == [False, True, False]
    robots, goals, walls = (part[0] for part in after)
    assert min(apart(robots), apart(robots[:1], walls), apart(goals[:1], walls)) >= SPACING
    assert task.distances[0] == pytest.approx(np.abs(goals - robots))
    envs.close()


@holds("env:warehouse_v0.reset", fault="learning/envs/tasks.py: stations begin in a corner")
def test_stations_and_crates_are_where_the_documents_say() -> None:
    size, count = 9.1, 3
    fleet = FleetWarehouse(num_robots=3, num_stations=count, arena_size=size, num_obstacles=2, goal_radius=0.7)
    seen, _ = fleet.reset(seed=4)
    task, loads = fleet.task, set()
    heights = [size * ((index + 0.5) / count - 0.5) for index in range(count)]
    sources = [complex(0.5 - size / 2, height) for height in heights]
    sinks = [complex(size / 2 - 0.5, height) for height in heights]
    places, walls = task.arena.positions[0] @ [1, 1j], task.arena.obstacles[0] @ [1, 1j]
    assert apart(walls) >= 2 * SPACING and min(apart(places), apart(places, walls)) >= SPACING
    for points in (places, walls):
        assert max(np.abs(points.real).max(), np.abs(points.imag).max()) <= (size - 4.0) / 2
    crates = [thing for thing in task.sim.sim_objects if thing.row in task.crates[0]]
    rng, visited = np.random.default_rng(1), set()
    for _ in range(400):
        actions = {}
        for robot, name in enumerate(fleet.agents):
            goal = complex(*task.goals[0, robot])
            agent, crate = task.sim.agents[robot], crates[robot]
            place = complex(*crate.position[:2]) - complex(*task.arena.origins[0])
            if task.loaded[0, robot]:
                assert min(abs(goal - sink) for sink in sinks) < 1e-12
                # On top: half the height of a robot, and half of its own.
                assert np.allclose(crate.position - agent.position, [0.0, 0.0, 0.15 + 0.12], atol=1e-9)
            else:
                assert min(abs(goal - source) for source in sources) < 1e-12
                assert abs(place - goal) < 1e-12 and crate.position[2] == pytest.approx(0.12)
            loads.add(bool(task.loaded[0, robot]))
            visited.add(goal)
            bearing = math.atan2(seen[name][2], seen[name][1])
            actions[name] = np.clip([math.cos(bearing), bearing] + rng.uniform(-0.4, 0.4, 2), -1, 1)
        seen, *_ = fleet.step(actions)
    assert loads == {False, True} and len(visited) >= 4
    fleet.close()


def colored(canvas: ArenaCanvas, color: tuple[int, int, int], paper: tuple[int, int, int]) -> tuple[float, complex]:
    """Return how many pixels are covered, and their middle from the left and from below."""
    share = (canvas.image.astype(float) - paper)[..., 0] / (color[0] - paper[0])
    lines, columns = np.mgrid[: len(share), : len(share)] + 0.5
    total = share.sum()
    return total, complex((share * columns).sum() / total, len(share) - (share * lines).sum() / total)


@holds("env:picture", fault="learning/envs/shared.py: y counts down")
def test_shapes_have_their_size_and_place() -> None:
    color, paper = (10, 60, 210), (250, 240, 230)
    scale = 90 / 7.5
    for hole in (0.0, 0.7):
        canvas = ArenaCanvas(90, 7.5, paper)
        canvas.disc(np.array([1.4, -0.9]), 1.3, color, hole=hole)
        area, middle = colored(canvas, color, paper)
        assert area == pytest.approx(math.pi * (1.3**2 - hole**2) * scale**2, rel=5e-3)
        assert middle == pytest.approx(complex(45 + 1.4 * scale, 45 - 0.9 * scale), abs=0.02)
        if not hole:
            assert tuple(canvas.image[int(45 + 0.9 * scale), int(45 + 1.4 * scale)]) == color
    canvas = ArenaCanvas(90, 7.5, paper)
    canvas.line(np.array([-2.1, 0.4]), np.array([1.7, 2.3]), 0.8, color)
    area, middle = colored(canvas, color, paper)
    # Its ends are round.
    assert area == pytest.approx((0.8 * math.hypot(3.8, 1.9) + math.pi * 0.16) * scale**2, rel=5e-3)
    assert middle == pytest.approx(complex(45 - 0.2 * scale, 45 + 1.35 * scale), abs=0.02)
    # Half of a disc over the edge is cut off, and so is all of one beside the picture.
    canvas = ArenaCanvas(90, 7.5, paper)
    canvas.disc(np.array([3.75, 1.1]), 1.2, color)
    canvas.disc(np.array([-9.0, 20.0]), 1.0, color)
    assert colored(canvas, color, paper)[0] == pytest.approx(0.5 * math.pi * (1.2 * scale) ** 2, rel=2e-2)


@holds("env:FleetSim/Navigation-v0.render", fault="learning/envs/tasks.py: the nose of a robot is at its back")
def test_pictures_show_what_is_where() -> None:
    settings = {"num_robots": 2, "num_obstacles": 2, "arena_size": 6.2, "goal_radius": 0.4}
    env: Any = gymnasium.make("FleetSim/Navigation-v0", render_mode="rgb_array", **settings).unwrapped
    env.reset(seed=6)
    task, picture = env.task, env.render()
    scale = 480 / (1.15 * 6.2)

    def at(place: complex) -> tuple[int, ...]:
        return tuple(picture[int(240 - place.imag * scale), int(240 + place.real * scale)].tolist())

    paper, grey, colors = (245, 245, 242), (120, 122, 126), ((42, 107, 191), (214, 101, 38))
    for obstacle in task.arena.obstacles[0] @ [1, 1j]:
        assert at(obstacle + 0.25j) == at(obstacle - 0.25) == grey
        assert at(obstacle + 0.33) != grey
    for robot, place in enumerate(task.arena.positions[0] @ [1, 1j]):
        ahead = np.exp(1j * task.arena.robots.headings[0, robot])
        assert at(place - 0.17 * ahead) == at(place + 0.15j * ahead) == colors[robot]
        assert at(place + 0.1 * ahead) == paper
    for robot, goal in enumerate(task.goals[0] @ [1, 1j]):
        assert at(goal + 0.35j) == at(goal - 0.35) == colors[robot]
        assert at(goal + 0.2) != colors[robot]
    env.close()


@holds("env:FleetSim/FrankaDelta-v0.render", fault="learning/envs/franka.py: the height of the picture is its width")
def test_a_camera_that_is_moved_has_the_size_that_was_given() -> None:
    env = Franka2Env(small_bin(objects=(1, 1)), downsample_height=12, downsample_width=20)
    assert env.reward_range == (-math.inf, math.inf)
    env.reset(seed=0)
    look = ([0.9, 0.1, 0.5], [0.5, 0.0, 0.0], 31.0, 0.02, 2.5)
    env.recompute_view_and_projection_matrix(*look, render_width=52, render_height=36)
    assert env.render("rgb_array").shape == (36, 52, 3)
    env.recompute_view_and_projection_matrix(*look, render_width=44)
    rgb, depth = env.render("rgb_and_depth_arrays")
    assert rgb.shape == (36, 44, 3) and depth.shape[:2] == (36, 44)
    env.recompute_view_and_projection_matrix(*look, render_height=28)
    assert env.render("rgb_array").shape == (28, 44, 3)
    assert env.get_image_observation().shape == (12, 20, 3)
    # Straight at the table from above, the depth is the height of the camera.
    env.recompute_view_and_projection_matrix([1.6, 1.3, 0.8], [1.6, 1.3, 0.0], 20.0, 0.02, 2.5, [0.0, 1.0, 0.0])
    _, depth = env.render("rgb_array", get_depth_data=True)
    assert depth.mean() == pytest.approx(0.8, abs=0.02)
    env.close()


@holds("env:FleetSim/FrankaDelta-v0.observation.image", fault="learning/envs/franka.py: means are cut off, not rounded")
def test_pictures_are_brought_down_by_the_means_of_their_bands() -> None:
    image = np.random.default_rng(0).integers(0, 256, (23, 31, 3), np.uint8)
    small = downsampled(image, 5, 7)
    for row in range(5):
        for column in range(7):
            band = image[row * 23 // 5 : (row + 1) * 23 // 5, column * 31 // 7 : (column + 1) * 31 // 7].astype(float)
            assert small[row, column].tolist() == np.floor(band.mean(axis=(0, 1)) + 0.5).tolist()
    assert (downsampled(image, 23, 31) == image).all()
    with pytest.raises(FleetSimError, match="23 pixels"):
        downsampled(image, 24, 7)


@holds(
    "env:FleetSim/FrankaPosition-v0.action", fault="learning/envs/franka.py: normalized actions have twice the range"
)
def test_a_normalized_action_is_a_share_of_the_range_of_each_joint() -> None:
    env = Franka0Env(small_bin(objects=(1, 1)), normalized_actions=True)
    env.reset(seed=0)
    # The limits of the first joints of a Panda, in rad.
    shares = [0.12, -0.55, 0.07, 0.21, 0.1, 0.3, -0.2, 0.4, 0.4]
    env.step(np.array(shares, np.float32))
    joints = env.arm().agent.get_all_joints_state_by_name()
    limits = {"panda_joint1": (-2.9671, 2.9671), "panda_joint2": (-1.8326, 1.8326), "panda_joint4": (-3.1416, 0.0)}
    for number, (name, (low, high)) in zip((0, 1, 3), limits.items(), strict=True):
        assert joints[name][0] == pytest.approx(low + (shares[number] + 1.0) / 2.0 * (high - low), abs=0.02)
    env.close()


@holds("env:FleetSim/Navigation-v0.action", fault="learning/envs/tasks.py: turns by max_speed; actions are not limited")
def test_an_action_is_a_share_of_the_largest_speeds() -> None:
    envs = NavigationVectorEnv(
        3, num_robots=3, num_obstacles=0, arena_size=40.0, max_speed=0.8, max_turn=1.9, timestep=0.07
    )
    envs.reset(seed=5)
    actions = np.array([[0.6, -0.5], [1e30, -2.4], [-0.3, 0.9]])
    wanted = np.array([0.8, 1.9]) * np.clip(actions, -1.0, 1.0)
    for step in range(20):
        envs.step(actions.astype(np.float32))
        agents = sorted(envs.task.sim.agents, key=lambda agent: str(agent.name))
        speeds = [complex(*agent.velocity[:2]) for agent in agents]
        headings = np.exp(1j * np.array([agent.get_pose().yaw for agent in agents]))
        ahead, turns = (speeds / headings).real, np.array([agent.angular_velocity for agent in agents])
        if step in (0, 19):
            # Robots speed up by 3 m/s2 and 12 rad/s2.
            most = np.array([3.0, 12.0]) * 0.07 if step == 0 else np.inf
            expected = np.sign(wanted) * np.minimum(np.abs(wanted), most)
            assert np.stack((ahead, turns), axis=1) == pytest.approx(expected, abs=1e-6)
            # The rule of thumb turns to the goal, and drives while that is ahead.
            way = (envs.task.goals[0] - envs.task.arena.positions[0]) @ [1, 1j] / headings
            rule = np.stack((np.maximum(0.0, way.real / np.abs(way)), np.clip(np.angle(way), -1.0, 1.0)), axis=1)
            assert envs.task.simple_actions()[0] == pytest.approx(rule, abs=1e-6)
    envs.close()
