"""Observations and rewards of the environments, recomputed from the poses of their simulation and their settings.

Nothing of the environments' formulas is used: poses and velocities are those of the simulation's handles, distances and
directions are complex numbers, and a contact is two discs that overlap.
"""

from __future__ import annotations

import cmath
from typing import Any

import gymnasium
import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim import CollisionMode, Pose
from fleet_sim.learning.envs import FleetNavigation, FleetWarehouse, NavigationEnv, NavigationVectorEnv

ROBOT, OBSTACLE = 0.2, 0.3
"""Radii of the two kinds of discs, in m."""
UNEQUAL = {
    "arena_size": 6.5,
    "max_speed": 2.0,
    "max_turn": 1.7,
    "reach": 2.9,
    "goal_radius": 0.45,
    "timestep": 0.05,
    "progress_reward": 1.3,
    "goal_reward": 7.0,
    "collision_reward": -3.1,
    "step_reward": -0.07,
    "num_obstacles": 4,
    "neighbours": 4,
}


class Body:
    """A disc of one world at one time, as complex numbers."""

    def __init__(self, handle: Any, radius: float, origin: complex) -> None:
        self.place = complex(*handle.position[:2]) - origin
        self.velocity = complex(*handle.velocity[:2]) if radius == ROBOT else 0j
        self.ahead = cmath.exp(1j * handle.get_pose().as_euler()[2]) if radius == ROBOT else 1 + 0j
        self.turn = float(handle.angular_velocity) if radius == ROBOT else 0.0
        self.radius = radius
        # Robots whose episode has ended wait far below.
        self.there = handle.position[2] > -10.0


def bodies_of(task: Any) -> list[tuple[list[Body], list[Body]]]:
    """Return the robots and the obstacles of each world of `task`, read from its simulation alone."""
    worlds, robots = task.goals.shape[:2]
    agents = {agent.name: agent for agent in task.sim.agents}
    known = set(map(id, task.sim.agents))
    things = [
        thing
        for thing in task.sim.sim_objects
        if id(thing) not in known and thing.collision_mode is not CollisionMode.DISABLED
    ]
    share = len(things) // worlds
    found = []
    for world in range(worlds):
        origin = complex(*task.arena.origins[world])
        own = [Body(agents[f"world_{world}/robot_{robot}"], ROBOT, origin) for robot in range(robots)]
        found.append((own, [Body(thing, OBSTACLE, origin) for thing in things[world * share : (world + 1) * share]]))
    return found


def observed(me: Body, goal: complex, others: list[Body], more: list[float], settings: dict[str, Any]) -> np.ndarray:
    """Return what `me` should observe: its goal, its motion, `more`, then the nearest of `others`, nearest first."""
    way = (goal - me.place) / me.ahead
    speed = (me.velocity / me.ahead).real
    values = [abs(way) / settings["arena_size"], way.real / abs(way), way.imag / abs(way)]
    values += [speed / settings["max_speed"], me.turn / settings["max_turn"], *more]
    near = []
    for other in others:
        gap = abs(other.place - me.place) - other.radius - me.radius
        if other.there and gap < settings["reach"]:
            offset = (other.place - me.place) / me.ahead / settings["reach"]
            closing = (other.velocity - me.velocity) / me.ahead / (2.0 * settings["max_speed"])
            near.append((gap, [offset.real, offset.imag, closing.real, closing.imag, 1.0 - gap / settings["reach"]]))
    near.sort(key=lambda entry: entry[0])
    for _, numbers in near[: settings["neighbours"]]:
        values += numbers
    values += [0.0] * (5 + len(more) + 5 * settings["neighbours"] - len(values))
    return np.clip(values, -2.0, 2.0)


class Scene:
    """The worlds of a task between two steps: who is where, and where the goals are."""

    def __init__(self, task: Any, before: Scene | None = None) -> None:
        """With `before`, goals are those before the step, and so is who was there."""
        self.task, self.worlds = task, bodies_of(task)
        self.goals = task.goals[..., 0] + 1j * task.goals[..., 1] if before is None else before.goals
        self.ways = np.abs(self.goals - np.array([[robot.place for robot in robots] for robots, _ in self.worlds]))
        self.before = before

    def check_observation(self, world: int, robot: int, seen: Any, settings: Any, more: Any = ()) -> None:
        """Compare what a robot observes."""
        robots, obstacles = self.worlds[world]
        others = robots[:robot] + robots[robot + 1 :] + obstacles
        expected = observed(robots[robot], self.goals[world, robot], others, more, settings)
        np.testing.assert_allclose(seen, expected, atol=3e-6)

    def touching(self, world: int, robot: int) -> bool:
        """Return whether a robot overlaps another disc; who left in this step still lies where it was."""
        assert self.before is not None
        robots, obstacles = self.worlds[world]
        there = [other.there for other in self.before.worlds[world][0]]
        others = [other for index, other in enumerate(robots) if index != robot and there[index]] + obstacles
        me = robots[robot]
        return any(abs(other.place - me.place) < me.radius + other.radius for other in others)

    def progress_and_step(self, world: int, robot: int, settings: dict[str, Any]) -> float:
        """Return the part of the reward that each step has."""
        assert self.before is not None
        progress = self.before.ways[world, robot] - self.ways[world, robot]
        return float(settings["progress_reward"] * progress + settings["step_reward"])

    def navigation_reward(self, world: int, robot: int, settings: dict[str, Any]) -> float:
        """Return the reward of a robot for the step before; who collides at its goal has not reached it."""
        reward = self.progress_and_step(world, robot, settings)
        if self.touching(world, robot):
            return reward + float(settings["collision_reward"])
        return reward + float(settings["goal_reward"] * (self.ways[world, robot] <= settings["goal_radius"]))


def drive(seen: Any, rng: np.random.Generator) -> np.ndarray:
    """Towards the goal, with much swerving, so that robots meet, turn and reach their goals."""
    bearing = np.arctan2(seen[..., 2], seen[..., 1])
    action = np.stack([0.9 * np.cos(bearing), bearing], axis=-1) + rng.uniform(-0.7, 0.7, (*seen.shape[:-1], 2))
    return np.clip(action, -1.0, 1.0).astype(np.float32)


@holds(
    "env:FleetSim/Navigation-v0.observation",
    "env:FleetSim/Navigation-v0.reward",
    "env:FleetSim/Navigation-v0.info.distance",
    "env:FleetSim/Navigation-v0.info.is_success",
    fault="learning/envs/arena.py: the speed is multiplied by max_speed, not divided by it",
)
@pytest.mark.parametrize("robots", [1, 3])
def test_one_robot_observes_and_earns_what_its_world_says(robots: int) -> None:
    settings = {**UNEQUAL, "num_robots": robots}
    env: Any = gymnasium.make("FleetSim/Navigation-v0", **settings).unwrapped
    rng, ends = np.random.default_rng(3), {True: 0, False: 0}
    for seed in range(8):
        seen, info = env.reset(seed=seed)
        for _ in range(60):
            before = Scene(env.task)
            assert info["distance"] == pytest.approx(before.ways[0, 0])
            before.check_observation(0, 0, seen, settings)
            seen, reward, ended, _, info = env.step(drive(seen, rng))
            after = Scene(env.task, before)
            assert reward == pytest.approx(after.navigation_reward(0, 0, settings), abs=1e-9)
            if ended:
                assert info["is_success"] == (not after.touching(0, 0))
                ends[info["is_success"]] += 1
                break
    assert ends[True] > 1 and (ends[False] > 1 or robots > 1)
    env.close()


@holds("env:FleetSim/Navigation-v0.reward", fault="learning/envs/tasks.py: the goal's reward also while touching")
def test_a_robot_that_touches_at_its_goal_has_not_reached_it() -> None:
    settings = {**UNEQUAL, "num_robots": 1, "num_obstacles": 1}
    env: Any = gymnasium.make("FleetSim/Navigation-v0", **settings).unwrapped
    env.reset(seed=2)
    _, (obstacle,) = bodies_of(env.task)[0]
    place = obstacle.place + 0.49 * cmath.exp(0.7j)
    env.task.sim.agents[0].set_pose(Pose.from_yaw(place.real, place.imag, 0.15, 1.1))
    env.task.goals[0, 0] = place.real + 0.1, place.imag - 0.2
    env.task.measure()
    before = Scene(env.task)
    _, reward, ended, _, info = env.step(np.array([-0.02, 0.3], np.float32))
    after = Scene(env.task, before)
    assert after.ways[0, 0] < settings["goal_radius"]
    assert (ended, info["is_success"]) == (True, False)
    assert reward == pytest.approx(after.progress_and_step(0, 0, settings) - 3.1)
    env.close()


@holds(
    "env:fleet_navigation_v0.observation",
    "env:fleet_navigation_v0.reward",
    fault="learning/envs/tasks.py: relative velocities are divided by max_speed, not by twice that",
)
def test_a_fleet_observes_and_earns_what_its_world_says() -> None:
    settings = {**UNEQUAL, "num_robots": 5, "arena_size": 7.5}
    fleet, rng, leavers = FleetNavigation(**settings), np.random.default_rng(4), 0
    for seed in range(3):
        seen, _ = fleet.reset(seed=seed)
        left = False
        while fleet.agents:
            numbers = {name: int(name.partition("_")[2]) for name in fleet.agents}
            before = Scene(fleet.task)
            # Robots that leave are seen once more, in the step in which they leave.
            for name, robot in () if left else numbers.items():
                before.check_observation(0, robot, seen[name], settings)
            seen, rewards, ended, _, _ = fleet.step({name: drive(seen[name], rng) for name in fleet.agents})
            after, left = Scene(fleet.task, before), any(ended.values())
            expected = {name: after.navigation_reward(0, robot, settings) for name, robot in numbers.items()}
            assert rewards == pytest.approx(expected, abs=1e-9)
            leavers += sum(ended.values())
    assert leavers > 5
    fleet.close()


@holds(
    "env:FleetSim/Navigation-v0.vector.observation",
    "env:FleetSim/Navigation-v0.vector.reward",
    fault="learning/envs/arena.py: the speed is multiplied by max_speed, not divided by it",
)
@pytest.mark.parametrize("worlds", [2, 18])
def test_worlds_side_by_side_are_observed_and_rewarded_as_one_is(worlds: int) -> None:
    # Of 18 worlds of 3 robots observations are compiled, of two they are not.
    settings = {**UNEQUAL, "num_robots": 3, "max_steps": 40}
    envs, rng = NavigationVectorEnv(3 * worlds, **settings), np.random.default_rng(5)
    seen, _ = envs.reset(seed=11)
    ended, ends = np.zeros(3 * worlds, np.bool_), 0
    for step in range(60):
        actions = drive(seen, rng)
        if step % 4:
            seen, rewards, terminated, truncated, _ = envs.step(actions)
        else:
            before, robots = Scene(envs.task), [(number, divmod(number, 3)) for number in range(3 * worlds)]
            for number, (world, robot) in robots:
                before.check_observation(world, robot, seen[number], settings)
            seen, rewards, terminated, truncated, _ = envs.step(actions)
            after = Scene(envs.task, before)
            # A step in which somebody begins anew in the same world has another state at its end.
            for number, (world, robot) in robots:
                if not ended[3 * world : 3 * world + 3].any():
                    expected = after.navigation_reward(world, robot, settings)
                    assert rewards[number] == pytest.approx(expected, abs=1e-9)
        ended = terminated | truncated
        ends += int(ended.sum())
    assert ends > worlds
    envs.close()


@holds(
    "env:FleetSim/Warehouse-v0.observation",
    "env:FleetSim/Warehouse-v0.reward",
    "env:FleetSim/Warehouse-v0.info.*",
    "env:warehouse_v0.observation",
    "env:warehouse_v0.reward",
    fault="learning/envs/tasks.py: a fetched crate earns the whole goal_reward",
)
@pytest.mark.parametrize("form", ["single", "fleet"])
def test_a_warehouse_observes_and_earns_what_its_world_says(form: str) -> None:
    settings = {**UNEQUAL, "num_robots": 3, "arena_size": 8.5, "num_stations": 3, "goal_radius": 0.62}
    fleet = FleetWarehouse(**settings) if form == "fleet" else None
    env: Any = fleet or gymnasium.make("FleetSim/Warehouse-v0", **settings).unwrapped
    rng, found = np.random.default_rng(6), {"fetched": 0, "delivered": 0, "begun": 0}
    seen, _ = env.reset(seed=3)
    touched, numbers = {0: False, 1: False, 2: False}, (0, 1, 2) if fleet else (0,)
    loaded, told = dict.fromkeys(numbers, False), 0
    for _ in range(330):
        before = Scene(env.task)
        for robot in numbers:
            own = seen[f"robot_{robot}"] if fleet else seen
            before.check_observation(0, robot, own, settings, [float(loaded[robot])])
        if fleet:
            seen, given, *_ = fleet.step({name: drive(seen[name], rng) for name in fleet.agents})
            rewards = {robot: given[f"robot_{robot}"] for robot in numbers}
        else:
            seen, reward, *_, info = env.step(drive(seen, rng))
            rewards = {0: reward}
            assert info["distance"] == pytest.approx(Scene(env.task).ways[0, 0])
            told += info["is_success"]
        after = Scene(env.task, before)
        for robot in numbers:
            expected = after.progress_and_step(0, robot, settings)
            touching = after.touching(0, robot)
            if touching and not touched[robot]:
                expected += settings["collision_reward"]
                found["begun"] += 1
            touched[robot] = touching
            if after.ways[0, robot] <= settings["goal_radius"]:
                expected += settings["goal_reward"] * (1.0 if loaded[robot] else 0.5)
                found["delivered" if loaded[robot] else "fetched"] += 1
                loaded[robot] = not loaded[robot]
            assert rewards[robot] == pytest.approx(expected, abs=1e-9)
    assert min(found.values()) > 0, found
    assert told == (0 if fleet else found["delivered"])
    env.close()


def test_an_episode_ends_after_as_many_steps_as_its_settings_say() -> None:
    env = NavigationEnv(num_robots=1, num_obstacles=0, max_steps=7)
    for seed in (3, 4):
        env.reset(seed=seed)
        ends = [env.step(np.zeros(2, np.float32))[3] for _ in range(7)]
        assert ends == [False] * 6 + [True]
    env.close()
