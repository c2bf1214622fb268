"""Pictures, GIFs, films, tables and plots of a world, read back."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet
import pytest
from PIL import Image

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import MazeAgent, MazeAgentConfig, World_from_config
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.canvas import Color
from fleet_sim.swarm.members import MetricTable
from fleet_sim.swarm.pictures import GifRecorder, MetricPlot, VideoRecorder, Viewport, picture, recorder_for
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.world import RectangularWorld


class Ahead(Controller):
    def act(self, group: Group) -> Floats:
        return np.tile((1.0, 0.0), (len(group), 1))


class Constant(Metric):
    def calculate(self) -> None:
        self.set_value(1.0)


class MeanX(Metric):
    def calculate(self) -> None:
        assert self.world is not None
        self.set_value(float(self.world.everyone.positions[:, 0].mean()))


RED = {"type": "MazeAgent", "agent_radius": 0.5, "position": [1, 2], "body_color": [255, 0, 0], "controller": Ahead}


def red_world(**more: object) -> RectangularWorld:
    world = RectangularWorld({"size": [10, 5], "time_step": 0.1, "agents": [RED], "metrics": [MeanX], **more})
    world.setup()
    return world


def red_middle(rgb: np.ndarray) -> tuple[float, float]:
    rows, columns = np.nonzero((rgb[..., 0] > 200) & (rgb[..., 1] < 60))
    return float(columns.mean()), float(rows.mean())


def test_a_picture_shows_the_world_where_it_is() -> None:
    rgb = picture(red_world(background_color=[0, 0, 60]), width=400).rgb
    assert rgb.shape == (200, 400, 3)
    # Ten metres are 94 % of the width, with x to the right and y up.
    x, y = red_middle(rgb)
    assert x == pytest.approx(200 + (1 - 5) * 37.6, abs=2)
    assert y == pytest.approx(100 - (2 - 2.5) * 37.6, abs=2)
    assert rgb[3, 3].tolist() == [0, 0, 60]


class Notes:
    """A canvas of the user's own that notes what is drawn."""

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def clear(self, color: Color) -> None:
        self.drawn = ["clear"]

    def polygon(self, points: Floats, *, fill: Color | None = None, outline: Color | None = None) -> None:
        self.drawn.append(("polygon", len(points), outline))

    def circle(self, centre: Floats, radius: float, *, fill: Color | None = None, outline: Color | None = None) -> None:
        self.drawn.append(("circle", radius))

    def line(self, points: Floats, color: Color) -> None:
        self.drawn.append("line")

    def text(self, lines: list[str], color: Color) -> None:
        self.drawn.append("text")


def test_points_and_pixels_of_a_wide_picture_belong_together() -> None:
    view = Viewport(red_world(), 430, 170, margin=0.05)
    # 153 of 170 pixels are for 5 m, which leave less than the width.
    assert view.scale == pytest.approx(30.6)
    pixel = (215.0 - 4.0 * 30.6, 85.0 + 0.5 * 30.6)
    assert view.pixels(np.array([[1.0, 2.0]]))[0] == pytest.approx(pixel)
    assert view.point(*pixel) == pytest.approx((1.0, 2.0))


def test_objects_are_drawn_before_agents() -> None:
    world = red_world(
        objects=[{"type": "StaticObject", "points": [[0, 0], [1, 0], [0, 1]], "body_color": [1, 2, 3]}],
        goals=[{"type": "circle", "position": [2, 2], "radius": 0.7}],
    )
    canvas = Notes()
    world.draw(canvas)
    world.draw(canvas)
    goal, agent = ("circle", 0.7), ("circle", 0.5)
    assert canvas.drawn == ["clear", goal, ("polygon", 4, (60, 60, 60)), ("polygon", 3, (1, 2, 3)), agent, "line"]


def test_a_gif_shows_it_moving(tmp_path: Path) -> None:
    world = red_world(subscribers=[{"type": "gif", "path": str(tmp_path / "a.gif"), "every_ith_frame": 5}])
    world.evaluate(40)
    world.close()
    with Image.open(tmp_path / "a.gif") as gif:
        middles = []
        for index in range(gif.n_frames):
            gif.seek(index)
            middles.append(red_middle(np.asarray(gif.convert("RGB")))[0])
        assert gif.n_frames == 8
        assert gif.info["duration"] == 50
    assert np.diff(middles) == pytest.approx([0.5 * 37.6] * 7, abs=2)


def test_a_film_is_written_while_it_runs(tmp_path: Path) -> None:
    world = red_world()
    world.subscribers.append(VideoRecorder(tmp_path / "a.mp4", every_ith_frame=5, width=101))
    world.evaluate(20)
    world.close()
    assert (tmp_path / "a.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_recorder_stops_after_its_duration(tmp_path: Path) -> None:
    world = red_world()
    recorder = GifRecorder(tmp_path / "a.gif", duration=10, every_ith_frame=5)
    world.subscribers.append(recorder)
    world.evaluate(20)
    assert recorder.closed
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 2


def test_metrics_are_written_as_csv_and_parquet(tmp_path: Path) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "a.parquet"]
    world = red_world(subscribers=[{"type": "table", "path": str(path), "every": 2} for path in paths])
    world.evaluate(10)
    world.close()
    with paths[0].open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    table = pyarrow.parquet.read_table(paths[1]).to_pydict()
    assert list(lines[0]) == list(table) == ["step", "time", "population", "MeanX"]
    assert [int(line["step"]) for line in lines] == table["step"] == [2, 4, 6, 8, 10]
    assert [float(line["MeanX"]) for line in lines] == table["MeanX"] == pytest.approx([1.2, 1.4, 1.6, 1.8, 2.0])


def test_metrics_are_plotted(tmp_path: Path) -> None:
    world = red_world(subscribers=[{"type": "plot", "path": str(tmp_path / "a.png"), "metrics": ["MeanX"]}])
    world.evaluate(10)
    plot = world.subscribers[0]
    assert plot.times == pytest.approx(np.arange(1, 11) * 0.1)
    assert plot.values["MeanX"] == pytest.approx(1.0 + 0.1 * np.arange(1, 11))
    world.close()
    with Image.open(tmp_path / "a.png") as image:
        assert image.size[0] == 840


def test_a_plot_can_follow_the_run() -> None:
    matplotlib.use("Agg")
    world = red_world(subscribers=[{"type": "plot", "live": True, "every": 5}])
    world.evaluate(4)
    assert not plt.get_fignums()
    world.evaluate(6)
    (number,) = plt.get_fignums()
    line = plt.figure(number).axes[0].lines[0]
    assert len(line.get_xdata()) == 10
    plt.close("all")


def test_a_long_run_is_plotted_with_fewer_points() -> None:
    world, plot = RectangularWorld(), MetricPlot("unused.png")
    world.add_metric(Constant())
    for step in range(1, 10_001):
        world.steps = step
        plot.step(world)
    assert len(plot.times) <= 4000
    assert plot.times[-1] > 9_990 * world.dt
    assert np.ptp(np.diff(plot.times)) < 1e-9


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.gif", "a.png"])
def test_closing_the_simulation_finishes_the_files(name: str, tmp_path: Path) -> None:
    kind = {"csv": "table", "parquet": "table", "gif": "gif", "png": "plot"}[name[2:]]
    section = {"time_step": 0.1, "agents": [RED], "metrics": [MeanX], "subscribers": [{"type": kind}]}
    section["subscribers"][0]["path"] = str(tmp_path / name)  # type: ignore[index]
    sim = MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "swarm": section})
    for _ in range(20):
        sim.step_once()
    sim.close()
    size = (tmp_path / name).stat().st_size
    assert size > 0
    sim.close()
    assert (tmp_path / name).stat().st_size == size


def test_wrong_endings_and_folders_are_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"the ending must be \.csv or \.parquet"):
        MetricTable(tmp_path / "a.xlsx")
    with pytest.raises(InvalidValueError, match=r"the ending must be \.gif, \.mp4"):
        recorder_for(tmp_path / "a.avi", 1)
    with pytest.raises(ConfigError, match=r"subscribers\[0\]: .*: cannot be written: there is no folder"):
        red_world(subscribers=[{"type": "gif", "path": str(tmp_path / "no" / "a.gif")}])


def test_what_is_written_to_is_told_before_it_is_used(tmp_path: Path) -> None:
    table, gif = MetricTable(tmp_path / "a.csv"), GifRecorder(tmp_path / "a.gif", None, 1)
    plot = MetricPlot(tmp_path / "a.svg", ["MeanX"])
    world = red_world(subscribers=[table, gif, plot])
    gif.width, plot.metrics = 60, None
    with pytest.raises(InvalidValueError, match="MetricTable: `path` cannot be set any more"):
        table.path = tmp_path / "b.csv"
    world.step()
    table.every, gif.path = 2, tmp_path / "b.gif"
    for part, name, value in ((gif, "width", 80), (plot, "metrics", ["MeanX"])):
        with pytest.raises(InvalidValueError, match=f"`{name}` cannot be set any more"):
            setattr(part, name, value)
    for _ in range(4):
        world.step()
    world.close()
    with pytest.raises(InvalidValueError, match="`every` cannot be set any more"):
        table.every = 1
    # The first line, and of the others every second one.
    assert [line.split(",")[0] for line in (tmp_path / "a.csv").read_text().splitlines()] == ["step", "1", "2", "4"]
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.gif", "a.svg"}


# ---- Static objects from SVG drawings, and the points that polygons are held by --------------------------------------


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
        ({"scale_forward_speed": 0.2}, "scale_forward_speed: is not a setting of agents. Instead: leave it out"),
        ({"track_io": True}, "a subscriber, any function"),
        (
            {"controller": {"type": "Controller", "controller": [1, 2, 3, 4]}},
            "Instead: binary takes a list of four numbers",
        ),
        ({"sensors": [{"type": "binary_fov", "degrees": False}]}, "degrees: is not .* Instead: angles are in rad"),
        ({"paddin": 1}, "unknown key"),
    ],
)
def test_keys_of_there_that_are_not_here_say_what_to_write(agent: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RectangularWorld({"agents": [{"type": "MazeAgent", **agent}]}).setup()
    with pytest.raises(ConfigError, match="padding: must be"):
        RectangularWorld({"padding": 0.5})
