"""One agent, and few, are computed in plain numbers and many in arrays: the results are the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.swarm import RectangularWorld

FAR = 40.0
"""Where the company is in m: too far away to be seen or touched."""

MANY = 14
"""Company with which everything is computed in arrays."""

STEPS = 25
ANYWHERE = st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.0))
SPEEDS = st.sampled_from([0.0, -0.3, 0.4, 1.1])


@st.composite
def scenes(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], list[tuple[float, float]]]:
    """Draw a world, an agent that drives in it, and the places of others that stand in its way."""
    world: dict[str, Any] = {
        "size": [50.0, 50.0],
        "time_step": 0.05,
        "collide_walls": draw(st.booleans()),
        "detectable_walls": draw(st.booleans()),
        "goals": draw(st.sampled_from([[], [{"type": "CylinderGoal", "position": [1.0, 1.0], "radius": 0.2}]])),
    }
    if draw(st.booleans()):
        world["objects"] = [{"type": "StaticObject", "points": [[0, 0], [0.6, 0.1], [0.3, 0.8]], "position": [1, 1]}]
    field = {
        "type": "BinaryFOVSensor",
        "theta": draw(st.sampled_from([0.0, 0.4, 2.0, 4.0])),
        "distance": draw(st.floats(0.1, 3.0)),
        "bias": draw(st.sampled_from([0.0, 0.7])),
        "occlusion": draw(st.booleans()),
    }
    agent = {
        "type": draw(st.sampled_from(["MazeAgent", "DiffDriveAgent"])),
        "agent_radius": draw(st.sampled_from([0.0, 0.1, 0.3])),
        "collides": draw(st.booleans()),
        "stop_on_collision": draw(st.booleans()),
        "catastrophic_collisions": draw(st.booleans()),
        "stop_at_goal": draw(st.booleans()),
        "delay": draw(st.sampled_from([0, 3])),
        "max_linear_vel": draw(st.sampled_from([None, 0.5])),
        "max_angular_accel": draw(st.sampled_from([None, 2.0])),
        "controller": {"type": "BinaryController", "a": draw(_pairs()), "b": draw(_pairs())},
        "sensors": [field],
    }
    if agent["type"] == "DiffDriveAgent":
        agent["wheel_radius"] = 0.7
    return world, agent, draw(st.lists(ANYWHERE, max_size=5))


def _pairs() -> st.SearchStrategy[list[float]]:
    return st.tuples(SPEEDS, SPEEDS).map(list)


def course(world: dict[str, Any], agent: dict[str, Any], others: list[tuple[float, float]], company: int) -> list[Any]:
    """Return where the first agent is, how fast, what it touches and what it reads, after each step."""
    seen = []
    with RectangularWorld({**world, "seed": 5}) as made:
        made.setup()
        places = [(0.9, 0.4), *((FAR, FAR - 2.0 * number) for number in range(company))]
        first = made.spawn_many(made.recipe(agent), places, [0.3] * len(places))[0]
        for place in others:
            made.spawn({"type": "StaticAgent", "agent_radius": 0.15}, position=place)
        row, columns = first.row, made.columns
        for _ in range(STEPS):
            made.step()
            motion = columns.motion
            numbers = (columns.position, columns.orientation, columns.velocity, columns.angular_velocity)
            commands = (motion.body_linear, motion.body_angular, motion.command_linear, motion.command_angular)
            seen.append([column[row].tolist() for column in (*numbers, *commands)])
            seen.append([first.touching, first.halted, first.sensors[0].current_state, bool(columns.moved[row])])
            seen.append([int(motion.command_expiry[row]), bool(motion.reached[row])])
    return seen


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(scenes())
def test_an_agent_alone_drives_as_it_does_in_company(
    scene: tuple[dict[str, Any], dict[str, Any], list[tuple[float, float]]],
) -> None:
    world, agent, others = scene
    alone = course(world, agent, others, 0)
    np.testing.assert_equal(alone, course(world, agent, others, 2))
    np.testing.assert_equal(alone, course(world, agent, others, MANY))
    # In turn, each agent is computed alone, whatever company it has.
    in_turn = {**world, "update": "in_turn"}
    np.testing.assert_equal(alone, course(in_turn, agent, others, 0))
    np.testing.assert_equal(alone, course(in_turn, agent, others, 2))
