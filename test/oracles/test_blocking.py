"""Where robots that stop at obstacles stop, and where they refuse to go: distances of outlines by brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds
from outlines import BASE, CARGO, HEIGHT, Floats, box, build, corners, gap, load, outline, robot, wall

import fleet_sim as fs


@holds("api:Agent.blocked_by", fault="sensing/collision/blocking.py: DEFAULT_SKIN of 2 mm")
@pytest.mark.parametrize("step", [0.05, 0.013])
@pytest.mark.parametrize("speed", [0.9, 23.0])
def test_a_robot_stops_where_its_outline_first_touches_the_wall(step: float, speed: float) -> None:
    half, limits = (0.15, 1.4), {"max_linear_vel": speed, "max_linear_accel": 50.0 if speed > 1 else 0.7}

    def driven(*, blocks: bool) -> tuple[list[Floats], Any, float]:
        """Return the places after each step, what blocks the robot, and its distance from the wall."""
        with build(step) as sim:
            agent = robot(sim, -1.3, 0.4, 0.7, block_on_collision=blocks, **limits)
            barrier, places = wall(sim, 2.1, 1.2, 0.35, half), [np.array([-1.3, 0.4])]
            agent.set_velocity(speed * math.cos(0.5), -speed * math.sin(0.5))
            while sim.sim_time < 5.0 and places[-1][0] < 3.0:
                sim.step_once()
                places.append(np.array(agent.get_pose().position[:2]))
            assert agent.get_pose().yaw == pytest.approx(0.7, abs=1e-12)
            return places, agent.blocked_by and agent.blocked_by.name, gap(outline(agent, BASE), outline(barrier, half))

    places, blocker, left = driven(blocks=True)
    assert blocker == "wall" and left == pytest.approx(1e-3, abs=2e-7)
    # Along the way of a robot that nothing stops, by a search: fast ones would be beyond the wall after one step.
    there, free = corners((2.1, 1.2, 0.35), half), driven(blocks=False)[0]
    for begin, end in itertools.pairwise(free):
        # Nothing of it moves farther than its middle.
        if gap(corners((*begin, 0.7), BASE), there) - 1e-3 > np.linalg.norm(end - begin):
            continue
        shares = np.linspace(0.0, 1.0, 60)
        near = [gap(corners((*(begin + share * (end - begin)), 0.7), BASE), there) <= 1e-3 for share in shares]
        if any(near):
            high = shares[near.index(True)]
            low = high - 1.0 / 59
            for _ in range(40):
                middle = 0.5 * (low + high)
                inside = gap(corners((*(begin + middle * (end - begin)), 0.7), BASE), there) <= 1e-3
                low, high = (low, middle) if inside else (middle, high)
            assert places[-1] == pytest.approx(begin + low * (end - begin), abs=2e-6)
            return
    raise AssertionError("the robot that nothing stops never came to the wall")


@holds("api:Agent.blocked_by", fault="sensing/collision/blocking_system.py: loads are left out of the movers")
@pytest.mark.parametrize("mode", ["omnidirectional", "differential"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_robot_stops_before_its_load_hits_the_wall(mode: str, nested: bool) -> None:
    with build(motion := 0.05, ignore_static_collision=False, collision_margin=0.0) as sim:
        agent, half = robot(sim, -0.6, 0.2, 0.2, motion_mode=mode, max_angular_accel=1.1), (0.2, 2.4)
        crate = load(sim, agent, 0.9, 0.13, 0.4)
        if nested:
            under, crate = crate, sim.spawn(fs.SimObjectSpawnParams(box(*CARGO, 0.05), box(*CARGO, 0.05), name="top"))
            under.attach_object(crate, relative_pose=fs.Pose.from_yaw(0.35, -0.2, 0.1, yaw=0.5))
        barrier, touched = wall(sim, 3.1, 0.7, 0.25, half), list[Any]()
        sim.events.on("collision_started", lambda obj_a, obj_b: touched.append((obj_a, obj_b)))
        move = fs.MoveTo(fs.Pose.from_yaw(6.0, 1.0, HEIGHT, yaw=0.2))
        agent.add_action(move)
        nearest = math.inf
        while not move.is_complete() and sim.sim_time < 30.0:
            sim.step_once()
            nearest = min(nearest, gap(outline(crate, CARGO), outline(barrier, half)))
        # A load swings on an arc, of which each step takes the chord.
        assert nearest == pytest.approx(1e-3, abs=(3 if mode == "differential" else 1) * 2e-5) and not touched
        assert gap(outline(agent, BASE), outline(barrier, half)) > 0.3
        assert (move.status, move.cause, move.blocked_by) == ("failed", "blocked", "wall"), motion


@holds("api:Agent.blocked_by", fault="sensing/collision/blocking_system.py: what others carry is no obstacle")
def test_the_load_of_another_robot_is_an_obstacle_and_what_it_holds_together_is_none() -> None:
    with build() as sim:
        agent, other = robot(sim, 0.0, 0.1, 0.7), robot(sim, 3.0, 2.9, 0.3, name="other")
        crate, own = load(sim, other, -0.8, -0.6, 0.2), None
        crate.set_name("theirs")
        own = load(sim, agent, -0.5, 0.1, 0.9)
        second = sim.spawn(fs.SimObjectSpawnParams(box(*CARGO, 0.05), box(*CARGO, 0.05), name="second"))
        # The two loads overlap: they are one thing with the robot, and do not hold each other.
        agent.attach_object(second, relative_pose=fs.Pose.from_yaw(-0.45, 0.2, 0.02, yaw=0.4))
        agent.set_velocity(0.9)
        while agent.blocked_by is None and sim.sim_time < 9.0:
            sim.step_once()
        assert agent.blocked_by == crate
        assert gap(outline(agent, BASE), outline(crate, CARGO)) == pytest.approx(1e-3, abs=2e-7)
        assert gap(outline(own, CARGO), outline(second, CARGO)) < 0.0


@holds("api:Agent.blocked_by", fault="sensing/collision/blocking.py: _stop_together after `shorten` does nothing")
def test_loaded_robots_that_meet_never_overlap() -> None:
    rng = np.random.default_rng(7)
    with build(0.05) as sim:
        pairs: list[tuple[Any, Any]] = []
        for number in range(6):
            angle = number * math.pi / 3 + 0.2
            agent = robot(sim, 4 * math.cos(angle), 4 * math.sin(angle), angle + 2.9, name=f"amr_{number}")
            crate = load(sim, agent, 0.55, rng.uniform(-0.3, 0.3), 0.3)
            crate.set_name(f"crate_{number}")
            pairs.append((agent, crate))
            agent.set_goal(fs.Pose.from_yaw(-4 * math.cos(angle), -4 * math.sin(angle), HEIGHT, yaw=angle + 2.0))
        for _ in range(160):
            sim.step_once()
            bodies = [
                (n, outline(e, half))
                for n, both in enumerate(pairs)
                for e, half in zip(both, (BASE, CARGO), strict=True)
            ]
            for index, (first, one) in enumerate(bodies):
                for second, other in bodies[:index]:
                    # Bodies with their middles this far apart cannot touch.
                    apart = np.abs(one.mean(axis=0) - other.mean(axis=0)).max() > 0.8
                    assert first == second or apart or gap(one, other) > 0.0


@holds("api:Action.blocked_by", fault="robots/drive.py: goals_inside returns nothing")
def test_goals_inside_of_static_bodies_are_refused_exactly_where_the_outlines_overlap() -> None:
    half, rng = (0.4, 0.7), np.random.default_rng(3)
    with build() as sim:
        agent, barrier = robot(sim, -3.0, 0.3, 0.7), wall(sim, 1.6, 0.9, 0.35, (0.4, 0.7))
        refused = 0
        for x, y, yaw in rng.uniform((0.4, -0.6, -3), (2.8, 2.4, 3), (120, 3)):
            depth = gap(corners((x, y, yaw), BASE), outline(barrier, half))
            if abs(depth) < 2e-3:
                continue
            move = fs.MoveTo(fs.Pose.from_yaw(x, y, HEIGHT, yaw=yaw))
            agent.add_action(move)
            sim.step_once()
            assert (move.status == "failed") == (depth < 0.0)
            if depth < 0.0:
                refused += 1
                assert (move.cause, move.blocked_by, move.get_duration()) == ("blocked", "wall", 0.0)
                with pytest.raises(fs.InvalidValueError, match="'wall'"):
                    agent.set_goal(move.target_pose)
                command = fs.Navigate(
                    names=("amr",),
                    positions=[(x, y, HEIGHT)],
                    orientations=[(0, 0, math.sin(yaw / 2), math.cos(yaw / 2))],
                )
                assert "'wall'" in sim.dispatcher.dispatch(command).rejected["amr"]
            agent.clear_actions()
        assert 20 < refused < 100
        agent.block_on_collision = False
        move = fs.MoveTo(barrier.get_pose())
        agent.add_action(move)
        sim.step_once()
        assert move.status == "in_progress"
