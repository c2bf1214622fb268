"""Settings of agents and objects, read strictly: each type of agent names its settings class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Floats, Rows, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, StaleHandleError, StateError
from fleet_sim.base.limits import LONGEST_HISTORY
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import UsedSettings, read, setting
from fleet_sim.base.settings.fields import NO_RULES
from fleet_sim.base.settings.reader import Where, convert
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.swarm.agent_columns import SwarmColumns
from fleet_sim.swarm.canvas import RANDOM_COLOR, Canvas, Color, contrast, drawn_color, polygon_in, read_color
from fleet_sim.swarm.world_config import changed_settings, check_assignment
from fleet_sim.world.world import World

# Polygons of agents and objects: their corners, as lists or drawings, and their anchor points.


Point = tuple[float, float]

ANCHORS = ("center", "centroid", "center inplace", "centroid inplace")
"""Names of anchors: the middle of the box, and that of the area. "inplace" leaves the corners where they are."""


def read_points(value: object) -> list[Point] | None:
    """Return the corners of a polygon, also from the text of a drawing with one polygon, or None; raises ValueError."""
    given = polygon_in(value) if isinstance(value, str) else value
    points: list[Point] | None = convert(list[Point] | None, given, NO_RULES, Where())
    if points is not None and not points:
        raise InvalidValueError("must have at least one corner")
    return points


def read_anchor(value: object) -> Point | str:
    """Return a point, or one of ANCHORS; raises ValueError."""
    if isinstance(value, str):
        # Any white space between the two words: files are written by hand.
        words = " ".join(value.split())
        if words not in ANCHORS:
            raise InvalidValueError(f"must be two numbers or one of {', '.join(ANCHORS)}, got {value!r}")
        return words
    anchor: Point = convert(Point, value, NO_RULES, Where())
    return anchor


def anchor_of(points: Sequence[Point], anchor: Point | str) -> Floats:
    """Return the point (2,) that an anchor names; raises InvalidValueError for the centroid of what has no area."""
    corners = np.array(points)
    if not isinstance(anchor, str):
        return np.array(anchor)
    if anchor.startswith("centroid"):
        return centroid(corners)
    return np.asarray(0.5 * (corners.min(axis=0) + corners.max(axis=0)))


def centroid(corners: Floats) -> Floats:
    """Return the centroid (2,) of the area of a polygon (K, 2); raises InvalidValueError where it has no area."""
    # About the first corner, so that no digits are lost far from the origin.
    x, y = (corners - corners[0]).T
    after_x, after_y = np.roll(x, -1), np.roll(y, -1)
    parts = x * after_y - after_x * y
    # The shoelace formula; its sign is the direction of the corners, and cancels out of the centroid.
    area = 0.5 * float(parts.sum())
    if area == 0.0:
        raise InvalidValueError("points: a polygon without area has no centroid")
    middle = np.array([((x + after_x) * parts).sum(), ((y + after_y) * parts).sum()]) / (6.0 * area)
    return np.asarray(corners[0] + middle)


Team = int | str
Idiosyncrasies = tuple[Point, Point]
"""Means and standard deviations of the factors on the two numbers of an action."""


def read_collides(value: object) -> bool:
    """Return whether an agent is kept apart from others; raises ValueError.

    Of the names of RobotSwarmSimulator's modes, Detect is what false is here: detection regions see everybody.
    """
    known = {"Detect": False, "DetectAndCorrect": True}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str) and value in known:
        return known[value]
    raise ValueError(
        f"must be true, false, 'DetectAndCorrect' (as true) or 'Detect' (as false), got {value!r}; what detection"
        " regions look at is said by their target_teams"
    )


def read_idiosyncrasies(value: object) -> Idiosyncrasies | None:
    """Return means and standard deviations of both factors: from {mean: [...], sd: [...]}, or from the latter alone.

    None, or false, is no factors. Raises ValueError.
    """
    if value is None or value is False:
        return None
    if isinstance(value, Mapping):
        if set(value) != {"mean", "sd"}:
            raise ValueError(f"must have the keys mean and sd, got {sorted(map(str, value))}")
        value = (value["mean"], value["sd"])
    elif np.ndim(value) == 1:  # type: ignore[arg-type]
        value = ((1.0, 1.0), value)
    (first, second), deviations = as_floats(value, (2, 2), "mean, sd").tolist()
    # A bare list of deviations: factors vary about 1, so that the speeds of a configuration hold on average.
    if min(deviations) < 0.0:
        raise ValueError(f"sd: must be at least 0, got {deviations}")
    return (first, second), (deviations[0], deviations[1])


COLLIDES = {"enum": [True, False, "DetectAndCorrect", "Detect"]}
COLOR = {"anyOf": [{"type": "array"}, {"const": RANDOM_COLOR}]}
COLOR_DOC = "Red, green, blue; Random: drawn for each agent."


@dataclass
class AgentConfig(UsedSettings):
    """Settings of every agent and object."""

    associated_type: ClassVar[str] = ""
    """Name of the type of agents that settings of this class are for; see `associated_type` of `registry.py`."""

    position: Point | None = setting(None, unit="m", doc="Initial position; null: the centre of the world.")
    angle: float = setting(0.0, unit="rad", doc="Heading, counter-clockwise from the x axis.")
    name: str | None = setting(None, doc="Unique name; for several agents, the prefix of their names.")
    team: Team | None = setting(None, doc="Sensors and regions can look for one team.")
    controller: Any = setting(None, doc="A name, or a mapping with type and parameters; null: none.")
    sensors: list[Any] = setting(factory=list, one_is_list=True, doc="Names, or mappings with type and parameters.")
    agent_radius: float = setting(
        0.0, low=0, unit="m", doc="Radius of its disc, for collisions and sensors; 0: a point."
    )
    points: list[Point] | None = setting(
        None,
        reader=read_points,
        schema={"type": ["array", "string", "null"]},
        unit="m",
        doc="Corners of a polygon in its own frame, or the text of an SVG drawing of one.",
    )
    anchor_point: Point | str = setting(
        (0.0, 0.0),
        reader=read_anchor,
        schema={"anyOf": [{"type": "array"}, {"enum": list(ANCHORS)}]},
        unit="m",
        doc="The point of the polygon that lies at its position: two numbers, center or centroid; with inplace its"
        " corners stay where they would be without.",
    )
    collides: bool = setting(
        True, reader=read_collides, schema=COLLIDES, doc="It is separated from other agents and from walls."
    )
    grounded: bool = setting(False, doc="It is not moved when it is separated from others.")
    body_color: Color | str = setting((40, 90, 190), reader=read_color, schema=COLOR, doc=COLOR_DOC)
    body_filled: bool = setting(True, doc="Draw it filled.")

    def as_config_dict(self) -> dict[str, Any]:
        """Return the entry of a configuration that says the same."""
        return {"type": self.associated_type, **changed_settings(self)}

    @property
    def outline(self) -> Floats | None:
        """The corners (K, 2) of its polygon in its own frame, or None."""
        return None if self.points is None else np.array(self.points) - anchor_of(self.points, self.anchor_point)

    @property
    def shift(self) -> Floats:
        """How far from `position` it is put (2,), so that its corners stay in place."""
        # "inplace" means that the corners are meant in world coordinates: `position` has to make up for what the anchor
        # takes away.
        if self.points is None or not isinstance(self.anchor_point, str) or "inplace" not in self.anchor_point:
            return np.zeros(2)
        return anchor_of(self.points, self.anchor_point)

    @property
    def disc(self) -> float:
        """The radius of its disc: as given, or that of the smallest one about a polygon."""
        corners = self.outline
        if self.agent_radius > 0.0 or corners is None:
            return self.agent_radius
        # About its anchor, so that the disc does not move when the agent turns.
        return float(np.sqrt((corners * corners).sum(axis=1)).max())


@dataclass
class MazeAgentConfig(AgentConfig):
    """Settings of agents that drive."""

    associated_type = "MazeAgent"

    stop_on_collision: bool = setting(False, doc="It does not move in a step in which it would touch something.")
    catastrophic_collisions: bool = setting(False, doc="The first collision with another agent disables it.")
    stop_at_goal: bool = setting(False, doc="It stops permanently inside a goal.")
    idiosyncrasies: Idiosyncrasies | None = setting(
        None,
        reader=read_idiosyncrasies,
        schema={"type": ["array", "object", "boolean", "null"]},
        doc="Each agent's own factors on the two numbers of its actions: {mean: [1, 1], sd: [...]}, or the standard"
        " deviations alone.",
    )
    delay: int = setting(0, low=0, high=LONGEST_HISTORY, unit="steps", doc="Delay of actions.")
    delay_start: Literal["rest", "first"] = setting(
        "rest", doc="What it does in its first `delay` steps: rest: nothing; first: its first action."
    )
    trace_length: int = setting(0, low=0, high=LONGEST_HISTORY, unit="steps", doc="Length of the drawn trace.")
    trace_color: Color = setting((170, 170, 170), low=0, high=255, doc="Red, green, blue.")
    max_linear_vel: float | None = setting(None, above=0, unit="m/s", doc="Speed limit; null: none.")
    max_linear_accel: float | None = setting(None, above=0, unit="m/s^2", doc="Acceleration limit; null: none.")
    max_angular_vel: float | None = setting(None, above=0, unit="rad/s", doc="Angular velocity limit; null: none.")
    max_angular_accel: float | None = setting(
        None, above=0, unit="rad/s^2", doc="Angular acceleration limit; null: none."
    )


@dataclass
class DiffDriveAgentConfig(MazeAgentConfig):
    """Additional settings of agents with two wheels."""

    associated_type = "DiffDriveAgent"

    wheel_radius: float = setting(0.01, above=0, unit="m", doc="Radius of both wheels.")
    axle_length: float = setting(0.1, above=0, unit="m", doc="Distance between the wheels.")


@dataclass
class StaticAgentConfig(AgentConfig):
    """Settings of agents that never move and are not pushed."""

    associated_type = "StaticAgent"

    grounded: bool = setting(True, doc="It is not moved when it is separated from others.")
    body_color: Color | str = setting((120, 120, 120), reader=read_color, schema=COLOR, doc=COLOR_DOC)


@dataclass
class DetectionRegionConfig(AgentConfig):
    """Settings of detection regions: a disc (`agent_radius`) or a polygon (`points`) that others pass through."""

    associated_type = "DetectionRegion"

    collides: bool = setting(
        False, reader=read_collides, schema=COLLIDES, doc="It is separated from other agents and from walls."
    )
    grounded: bool = setting(True, doc="It is not moved when it is separated from others.")
    body_color: Color | str = setting((200, 120, 40), reader=read_color, schema=COLOR, doc=COLOR_DOC)
    body_filled: bool = setting(False, doc="Draw it filled.")
    target_teams: list[Team] | None = setting(None, one_is_list=True, doc="Teams to detect; null: all.")
    target_name: str | None = setting(None, doc="The only agent to detect; null: all.")


BaseAgentConfig = AgentConfig
UnicycleAgentConfig = MazeAgentConfig
StaticObjectConfig = StaticAgentConfig
"""Other names of the same settings, as types of agents have them."""


# One agent or object by its row: where it is and what it looks like, whatever type it has.


@saved
class Start(NamedTuple):
    """Where a body that is not spawned yet is to be, and its name there."""

    position: Floats
    angle: float
    name: str | None


class LivePosition(np.ndarray[Any, np.dtype[np.float64]]):
    """A copy (2,) of where a body is. Writing into it moves the body from where that is by then."""

    _body: SwarmBody | None = None

    @classmethod
    def of(cls, body: SwarmBody, position: Floats) -> LivePosition:
        """Return one of `body`, which is at `position`."""
        live = position.copy().view(cls)
        live._body = body
        # What cannot be noticed here, such as `numpy.add(..., out=agent.pos)`, is refused by NumPy.
        live.flags.writeable = False
        return live

    def _changed(self, change: Callable[[Floats], object]) -> Any:
        """Make `change` to where the body is; what was computed from one has no body, and is a plain array."""
        if self._body is None:
            change(self.view(np.ndarray))
            return self
        values = np.array(self._body.position)
        change(values)
        self._body.position = values
        self.flags.writeable = True
        np.copyto(self, values)
        self.flags.writeable = False
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        self._changed(lambda values: values.__setitem__(index, value))

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.add(values, other, out=values))

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.subtract(values, other, out=values))

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.multiply(values, other, out=values))

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.divide(values, other, out=values))

    def __reduce__(self) -> Any:
        """Pickle the numbers alone."""
        return np.array(self).__reduce__()


class BodyType(type):
    """Notes when the constructor of a body is done: from then on what is assigned to it acts or is refused."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new body that is in no world yet, with its controller and sensors."""
        # Parts are made after the whole chain of constructors, as a subclass may set what they need.
        body = cls.made(None, *args, **kwargs)
        body.furnish()
        return body

    def made(cls, start: Start | None, *args: Any, **kwargs: Any) -> Any:
        """Return a new body without controller and sensors; with `start` its constructor sees where it will be."""
        body: Any = object.__new__(cls)  # type: ignore[arg-type]  # the classes of this type are plain ones
        # Past __setattr__, which looks at `is_made`.
        vars(body).update(_start=start, is_made=False)
        body.__init__(*args, **kwargs)
        vars(body)["is_made"] = True
        return body


class SwarmBody(metaclass=BodyType):
    """A handle over one row of a world's columns; see `SwarmAgent` for what it can do.

    One made in code has no row until it is put into its world: `_start` then says where it will be. Reading what only a
    row has raises StateError before that, and StaleHandleError after it was removed.
    """

    law: ClassVar[str | None] = None
    """The motion law that moves it; None: nothing does."""
    _start: Start | None
    is_made: bool
    """Whether its constructor is done; from then on, what is assigned to it acts or is refused."""

    def __init__(self, columns: World, swarm: SwarmColumns, config: AgentConfig, start: Start) -> None:
        self.columns = columns
        self.swarm = swarm
        self.row = -1
        self.config: Any = config
        """What it was made from: the settings class of its type."""
        # `made` has set it where the world spawns; a constructor called by hand gives one of its own.
        self._start = self._start or start
        self._handle: SimObject | None = None
        self._last: Start | None = None

    def bind(self, handle: SimObject) -> None:
        """Stand for the row of `handle` from now on."""
        self._handle, self.row, self._start = handle, handle.row, None

    def depart(self) -> None:
        """Note where it is, before its row is given to others; see `last`."""
        # Copied: the row will be another's.
        self._last = Start(self.columns.position[self.row, :2].copy(), self._heading(), None)

    @property
    def last(self) -> Start:
        """Where it is, or was when it was removed."""
        if self._last is not None and not self.is_alive:
            return self._last
        return Start(self.position, self.angle, self.name)

    def furnish(self) -> None:
        """Get what the configuration says that it has."""

    @property
    def handle(self) -> SimObject:
        """The entity in the core: an Agent where it can move, else a SimObject."""
        if self._handle is None:
            kind = type(self).__name__
            raise StateError(f"this {kind} is in no world yet: world.population.append(agent) puts it there")
        return self._handle

    @property
    def is_new(self) -> bool:
        """Whether it was made in code and is in no world yet."""
        return self._start is not None

    def __setattr__(self, name: str, value: object) -> None:
        # In constructors anything may be set; afterwards a name that nobody reads is a mistake.
        if self.is_made:
            advice = "remove the agent and spawn another one, or say it in the configuration"
            check_assignment(self, name, type(self.config), advice)
        super().__setattr__(name, value)

    def _require_alive(self) -> int:
        if not self.handle.is_alive:
            raise StaleHandleError(f"{type(self).__name__} {self.handle.last_label} was removed")
        return self.row

    @property
    def is_alive(self) -> bool:
        """Whether it is in its world: put there, and not removed."""
        return self._handle is not None and bool(self._handle.is_alive)

    # ---- where it is -------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Floats:
        """Where it is (2,), in m, as a copy; `position[0] = 2.0` and `position += (1.0, 0.0)` move it."""
        if self._start is not None:
            return LivePosition.of(self, self._start.position)
        return LivePosition.of(self, self.columns.position[self._require_alive(), :2])

    @position.setter
    def position(self, value: object) -> None:
        self.place(value, self.angle)

    @property
    def x_pos(self) -> float:
        """Where it is along x, in m."""
        return float(self.position[0])

    @property
    def y_pos(self) -> float:
        """Where it is along y, in m."""
        return float(self.position[1])

    @property
    def angle(self) -> float:
        """Its heading in (-pi, pi] rad, counter-clockwise from the x axis."""
        if self._start is not None:
            return self._start.angle
        self._require_alive()
        return self._heading()

    @angle.setter
    def angle(self, value: float) -> None:
        self.place(self.position, value)

    def _heading(self) -> float:
        return quaternions.yaw_of(self.columns.orientation, self.row)

    def place(self, position: object, angle: float) -> None:
        """Put it at `position` (2,) with the heading `angle`; raises InvalidValueError for what is not finite."""
        if self._start is not None:
            point, heading = as_floats(position, (2,), "position").copy(), as_float(angle, "angle in rad")
            self._start = Start(point, heading, self._start.name)
            return
        self.put(position, angle)

    def put(self, position: object, angle: float) -> None:
        """Move its row there; see `place`."""
        raise NotImplementedError

    @property
    def linear(self) -> float:
        """Its speed along its heading, in m/s."""
        return float(self.columns.motion.body_linear[self._require_alive(), 0])

    @property
    def angular(self) -> float:
        """Its turning speed, in rad/s."""
        return float(self.columns.motion.body_angular[self._require_alive(), 2])

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Its name, unique in the world."""
        if self._start is not None:
            return self._start.name
        return self.columns.index.names[self._require_alive()]

    @property
    def radius(self) -> float:
        """The radius of its disc, in m."""
        if self._start is not None:
            return float(self.config.disc)
        return float(self.swarm.agent_radius[self._require_alive()])

    @property
    def touching(self) -> bool:
        """Whether it touched a wall, an object or another agent in this step."""
        return bool(self.swarm.touching[self._require_alive()])

    @property
    def halted(self) -> bool:
        """Whether it moves no more: at a goal, or disabled by a collision."""
        return bool(self.swarm.halted[self._require_alive()])

    @property
    def body_color(self) -> Color:
        """What pictures of the world draw it in: red, green, blue up to 255."""
        color: Color = self.config.body_color
        return color

    @body_color.setter
    def body_color(self, color: object) -> None:
        # Through the settings, which know all that a color may be.
        checked = read(type(self.config), {"body_color": color}).body_color
        if checked == RANDOM_COLOR:
            checked = drawn_color(self.columns.random.stream("swarm colors"))
        # Others may have been made from the same settings.
        self.config = replace(self.config, body_color=checked).in_use("an agent")

    @property
    def outline(self) -> Floats | None:
        """The corners (K, 2) of its polygon in the world frame, or None where it is a disc."""
        corners = self.config.outline
        if corners is None:
            return None
        sine, cosine = trig.sin_cos_of(self.angle)
        x, y = corners[:, 0], corners[:, 1]
        return self.position + np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=1)

    def __deepcopy__(self, memo: dict[int, Any]) -> SwarmBody:
        """A handle stays itself in a copy of what refers to it."""
        return self

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<{type(self).__name__} in no world yet>"
        label = self.name if self.is_alive else f"{self._handle.last_label} (removed)"
        return f"<{type(self).__name__} {label}>"


def rows_of(bodies: Iterable[SwarmBody]) -> Rows:
    """Return the rows of bodies, in their order."""
    rows = [body.row for body in bodies]
    return np.array(rows, np.int64) if rows else NO_ROWS


def draw_body(body: SwarmBody, canvas: Canvas) -> None:
    """Draw a body: its polygon or its disc, with a line along its heading where it can move."""
    color, outline = body.config.body_color, body.outline
    fill = color if body.config.body_filled else None
    if outline is not None:
        canvas.polygon(outline, fill=fill, outline=color)
        return
    canvas.circle(body.position, body.radius, fill=fill, outline=color)
    if body.law is not None and body.radius > 0.0:
        ahead = np.array([trig.cos(body.angle), trig.sin(body.angle)]) * body.radius
        canvas.line(np.stack((body.position, body.position + ahead)), contrast(color) if fill else color)
