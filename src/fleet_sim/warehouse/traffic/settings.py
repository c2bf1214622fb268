"""The section `traffic` of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import Mode
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.warehouse.traffic.disturbances import DisturbanceSettings
from fleet_sim.warehouse.traffic.router import LARGEST_RADIUS

FREE, COUNTED = "free", "counted"


@dataclass
class TrafficRobotSettings(Checked):
    """A robot of a site with traffic."""

    takes_part: bool = setting(
        True, doc="Whether it takes part in the traffic; it stands at a node then. Otherwise others drive around it."
    )


class OnFailure(Mode):
    """What to do when there is no plan: wait for the next period, plan again in the next step, or stop all robots."""

    WAIT = "wait"
    REPLAN = "replan"
    STOP = "stop"


def _read_planning_time(value: object) -> str | float:
    if value in (FREE, COUNTED):
        return str(value)
    # True would be one second.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 3600.0:
        return float(value)
    raise InvalidValueError(f"expected free, counted, or seconds from 0 to 3600, got {value!r}")


def _read_robots(value: object) -> Literal["all", "none"] | list[str]:
    if value == "all" or value == "none":
        return value
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return list(value)
    raise InvalidValueError(f"expected all, none, or a list of names of robots, got {value!r}")


_NAMES = {"anyOf": [{"enum": ["all", "none"]}, {"type": "array", "items": {"type": "string"}}]}
_TIME = {"anyOf": [{"enum": [FREE, COUNTED]}, {"type": "number", "minimum": 0, "maximum": 3600}]}


@dataclass
class TrafficSettings(Checked):
    """How robots are planned for, and when."""

    planner: str = setting("pibt", doc="A planner by name, or the dotted path of a class of your own.")
    settings: dict[str, Any] = setting(factory=dict, doc="Settings of the planner.")
    robots: Literal["all", "none"] | list[str] = setting(
        "all", reader=_read_robots, schema=_NAMES, doc="Robots of the scenario that take part: all, none, or by name."
    )
    network: Literal["auto", "grid", "roadmap"] = setting(
        "auto", doc="Where robots drive: along the cells of the site, or its roadmap; auto: its roadmap if it has one."
    )
    cell: float | None = setting(
        None,
        above=0.0,
        high=1e4,
        unit="m",
        doc="Size of the cells on the floors of a building, a whole number of times that of its map; null: that.",
    )
    radius: float | None = setting(
        None,
        above=0.0,
        high=LARGEST_RADIUS,
        unit="m",
        doc="Largest footprint that may take part, in a cell of the grid; null: those of the robots that come first.",
    )
    footprint: Literal["disc", "square"] = setting(
        "disc",
        doc="What robots keep free around them: a disc, or a square as wide, with its sides along the cells of a grid.",
    )
    period: float = setting(1.0, above=0.0, high=3600.0, unit="s", doc="Time from plan to plan, or the least time.")
    policy: str = setting(
        "period",
        doc="When to plan: period, all_stopped, on_demand, given (never), or the dotted path of a class of yours.",
    )
    window: int | None = setting(
        None,
        low=0,
        high=100_000,
        doc="Steps to plan ahead; 0: until all robots are at their goals; null: what the planner needs.",
    )
    planning_time: str | float = setting(
        FREE,
        reader=_read_planning_time,
        schema=_TIME,
        doc="Simulated time that a plan takes: none (free), as long as the planner computes (counted), or seconds.",
    )
    time_limit: float = time_setting(10.0, above=0.0, doc="After which a planner that has not returned is given up.")
    on_failure: OnFailure = setting(
        OnFailure.WAIT, doc="Without a plan: wait a period, replan in the next step, or stop all robots."
    )
    disturbances: DisturbanceSettings = setting(factory=DisturbanceSettings, doc="Delays, breakdowns, closed places.")
    seed: int | None = setting(None, low=0, high=2**62, doc="Of planners and disturbances; null: of the simulation.")
