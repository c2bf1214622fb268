"""Static objects from SVG drawings, and the points that polygons are held by."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.base.errors import ConfigError
from fleet_sim.swarm import MazeAgent, MazeAgentConfig, RectangularWorld, World_from_config

SQUARE = [(1.0, 1.0), (3.0, 1.0), (3.0, 2.0), (1.0, 2.0)]


def drawing(body: str) -> str:
    return f'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">\n{body}\n</svg>'


def world_of(body: str, **settings: Any) -> RectangularWorld:
    world = RectangularWorld({"size": [9, 9], "objects": [{"svg_to_static_objects": drawing(body)}], **settings})
    world.setup()
    return world


def corners_of(body: str) -> list[list[float]]:
    (thing,) = world_of(body).objects
    assert thing.outline is not None
    return np.round(thing.outline, 9).tolist()


CORNERS = [[1.0, 1.0], [3.0, 1.0], [3.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    "body",
    [
        '<polygon points="1 1 3 1 3 2 1 2"/>',
        '<polyline points="1,1 3,1 3,2 1,2"/>',
        '<rect x="1" y="1" width="2" height="1"/>',
        '<path d="M1 1 L3 1 L3 2 L1 2 Z"/>',
        '<path d="M1,1H3V2H1z"/>',
        '<path d="m1 1 2 0 0 1 -2 0 0 -1"/>',
        '<g transform="translate(1 1)"><rect width="1" height="1" transform="scale(2 1)"/></g>',
        '<rect x="1" y="-3" width="1" height="2" transform="rotate(90)"/>',
        '<rect width="2" height="1" transform="matrix(1 0 0 1 1 1)"/>',
        '<defs><rect width="5"/></defs><rect x="1" y="1" width="2" height="1" transform="rotate(180,2,1.5)"/>',
    ],
)
def test_shapes_become_polygons_of_the_world(body: str) -> None:
    assert sorted(corners_of(body)) == sorted(CORNERS)


def test_circles_and_groups() -> None:
    world = world_of(
        '<g id="Layer_1"><g id="nocollide"><g id="green"><circle cx="6" cy="6" r=".3" transform="scale(.5)"/></g></g>'
        '<g id="x" data-name="red"><rect x="1" width=".5" height="3"/></g><rect width="1" height="1"/></g>'
    )
    circle, red, plain = world.objects
    assert (circle.radius, circle.position.tolist(), circle.team) == (pytest.approx(0.15), [3.0, 3.0], "green")
    assert [thing.config.collides for thing in world.objects] == [False, True, True]
    assert (red.team, plain.team) == ("red", None)


def test_a_drawing_is_a_wall_for_agents(tmp_path: Path) -> None:
    (tmp_path / "walls.svg").write_text(drawing('<rect x="4" y="0" width="1" height="9"/>'), encoding="utf-8")
    (tmp_path / "world.yaml").write_text(
        "type: RectangularWorld\nsize: [9, 9]\npadding: 0\ntime_step: !np 1 / 10\nspawners:\n"
        "objects:\n- svg_to_static_objects: !include walls.svg\n"
        "agents:\n- {type: MazeAgent, position: [2, 4], agent_radius: 0.5, controller: {type: static, output: [1, 0]}}",
        encoding="utf-8",
    )
    world = World_from_config(tmp_path / "world.yaml")
    world.evaluate(40)
    assert world.population[0].x_pos == pytest.approx(3.5, abs=0.01)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<path d="M0 0 C1 1 2 2 3 3 Z"/>', "line 3, <path>: paths are one line of M, L, H, V and Z, got 'C'"),
        ('<path d="M0 0 L1 Z"/>', "numbers are missing"),
        ('<path d="M0 0 L1 0 L1 1 Z M2 2 L3 3 L2 3 Z"/>', "got 'M'"),
        ('<rect x="1cm" width="1" height="1"/>', "x must be a number without a unit, got '1cm'"),
        ('<rect width="1" height="1" rx="0.1"/>', "rounded corners"),
        ('<circle cx="1" cy="1"/>', "r must be a number"),
        ('<circle cx="1" cy="1" r="1" transform="scale(2 1)"/>', "ellipse"),
        ('<rect width="1" height="1" transform="skewX(3)"/>', "got skewX of 1 numbers"),
        ('<polygon points="1 1 2 2"/>', "needs three points or more"),
        ('<polygon points="1 1 2 2 x 3"/>', "expected numbers, got 'x'"),
        ("<text>hello</text>", "has no polygon"),
        ('<polygon points="1 1 2 2 3 3">', "no well-formed XML"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(body: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        world_of(body)
    assert "objects[0]: svg_to_static_objects" in str(raised.value)
    assert words in str(raised.value)


def test_drawings_that_are_bombs_are_refused() -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE svg [<!ENTITY a0 "x">{entities}]><svg><text>&a11;</text></svg>'
    with pytest.raises(ConfigError, match="entities of their own"):
        RectangularWorld({"objects": [{"svg_to_static_objects": bomb}]}).setup()
    with pytest.raises(ConfigError, match="more than 100 deep"):
        world_of("<g>" * 200 + "</g>" * 200)
    with pytest.raises(ConfigError, match="at most 4194304 characters"):
        world_of(" " * 5_000_000)
    with pytest.raises(ConfigError, match=r"!include walls\.svg"):
        RectangularWorld({"objects": [{"svg_to_static_objects": "walls.svg"}]}).setup()
    with pytest.raises(ConfigError, match="leave out team"):
        RectangularWorld({"objects": [{"svg_to_static_objects": drawing(""), "team": "a"}]}).setup()


@pytest.mark.parametrize(
    ("anchor", "middle"),
    [("center", (2.0, 1.5)), ("centroid", (2.0, 1.5)), ((1, 1), (1.0, 1.0)), ("centroid inplace", (2.0, 1.5))],
)
def test_a_polygon_is_held_by_its_anchor(anchor: Any, middle: tuple[float, float]) -> None:
    world = RectangularWorld({"size": [9, 9]})
    thing = world.add_object({"type": "StaticObject", "points": SQUARE, "anchor_point": anchor, "position": [4, 4]})
    inplace = isinstance(anchor, str) and "inplace" in anchor
    start = np.array([4.0, 4.0]) + (middle if inplace else (0.0, 0.0))
    assert thing.position.tolist() == start.tolist()
    assert thing.outline is not None
    assert thing.outline.tolist() == (start + np.array(SQUARE) - middle).tolist()


def test_corners_in_place_are_where_they_are_written() -> None:
    world = RectangularWorld({"size": [9, 9]})
    thing = world.add_object({"type": "StaticObject", "points": SQUARE, "anchor_point": "center  inplace"})
    assert thing.outline is not None
    assert thing.outline.tolist() == [list(corner) for corner in SQUARE]
    agent = MazeAgent(MazeAgentConfig(points=SQUARE, anchor_point="centroid inplace"), world)
    world.population.append(agent)
    copy = world.spawn(agent)
    assert copy.position.tolist() == agent.position.tolist() == [2.0, 1.5]


def test_the_centroid_is_that_of_the_area() -> None:
    world = RectangularWorld()
    corners = [(0.0, 0.0), (3.0, 0.0), (0.0, 3.0)]
    thing = world.add_object({"type": "StaticObject", "points": corners, "anchor_point": "centroid"})
    assert thing.outline is not None
    assert thing.outline.mean(axis=0).tolist() == pytest.approx(thing.position.tolist())
    assert thing.radius == pytest.approx(math.hypot(2.0, 1.0))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"points": SQUARE, "anchor_point": "middle"}, "anchor_point: must be two numbers or one of center, centroid"),
        ({"points": [(0, 0), (1, 1), (2, 2)], "anchor_point": "centroid"}, "without area has no centroid"),
        ({"points": drawing('<rect width="1" height="1"/><rect width="2" height="2"/>')}, "one polygon, got 2"),
        ({"points": [(0, 0, 0)]}, "points"),
    ],
)
def test_wrong_polygons_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RectangularWorld({"objects": [{"type": "StaticObject", **settings}]}).setup()


def test_a_hull_may_come_from_a_drawing() -> None:
    world = RectangularWorld()
    text = drawing('<polygon points="0 0 1 0 1 1"/>')
    thing = world.add_object({"type": "StaticObject", "points": text, "position": [0, 0]})
    assert thing.outline is not None
    assert thing.outline.tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (
            {"scale_forward_speed": 0.2},
            "scale_forward_speed: is not a setting of agents. Instead: leave it out",
        ),
        ({"track_io": True}, "a subscriber, any function"),
        (
            {"controller": {"type": "Controller", "controller": [1, 2, 3, 4]}},
            "Instead: binary takes a list of four numbers",
        ),
        (
            {"sensors": [{"type": "binary_fov", "degrees": False}]},
            "degrees: is not .* Instead: angles are in rad",
        ),
        ({"paddin": 1}, "unknown key"),
    ],
)
def test_keys_of_there_that_are_not_here_say_what_to_write(agent: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RectangularWorld({"agents": [{"type": "MazeAgent", **agent}]}).setup()
    with pytest.raises(ConfigError, match="padding: must be"):
        RectangularWorld({"padding": 0.5})
