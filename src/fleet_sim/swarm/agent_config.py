"""Settings of agents and objects, read strictly: each type of agent names its settings class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.gate.bounds import LONGEST_HISTORY
from fleet_sim.settings import UsedSettings, setting
from fleet_sim.swarm.canvas import RANDOM_COLOR, Color, read_color
from fleet_sim.swarm.outlines import ANCHORS, Point, anchor_of, read_anchor, read_points
from fleet_sim.swarm.written import changed_settings

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
