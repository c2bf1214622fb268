"""RosParams: the ROS 2 interfaces of a simulation and their rates. Can be read without ROS 2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from fleet_sim.base.arrays import as_floats
from fleet_sim.base.errors import InvalidValueError, brief, located, unknown_name
from fleet_sim.base.sections import SettingsSection
from fleet_sim.base.settings import UsedSettings, setting

# Names of frames and namespaces that ROS 2 takes, checked where settings give them. Can be read without ROS 2.


LONGEST_NAME = 245
"""Characters of a namespace, as in rcl; of a frame, as many."""
# In Python a dollar alone also stands before a last line break.
_NAMESPACE = r"^/?$(?!\n)|^/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*$(?!\n)"
FRAME_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": r"^[^/\n]", "maxLength": LONGEST_NAME}
NAMESPACE_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": _NAMESPACE, "maxLength": LONGEST_NAME}


def read_frame(value: object) -> str:
    """Return the name of a TF frame; raises InvalidValueError for what tf2 rejects, and what cannot be printed."""
    if isinstance(value, str) and value.isprintable() and not value.startswith("/") and 0 < len(value) <= LONGEST_NAME:
        return value
    raise InvalidValueError(
        f"must be the name of a frame: printable, not empty, without / at the beginning, got {brief(value)}"
    )


def read_namespace(value: object) -> str:
    """Return a namespace, with or without / at its beginning; raises InvalidValueError for what ROS 2 rejects."""
    if isinstance(value, str) and re.search(_NAMESPACE, value) and len(value) <= LONGEST_NAME:
        return value
    raise InvalidValueError(
        f"must be a namespace of ROS 2, such as /fleet: letters, digits and _ between single /, got {brief(value)}"
    )


Group = Literal["commands", "state", "description", "actions", "sensors"]
RATE = "Hz"


def _read_per_robot(value: object) -> str | list[str]:
    """Return "all", "none" or a list of names; raises InvalidValueError."""
    if value in ("all", "none"):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return list(value)
    raise InvalidValueError(f"must be 'all', 'none' or a list of robot names, got {value!r}")


# In Python a dollar alone also stands before a last line break.
_TOPIC_PART = r"^([A-Za-z_][A-Za-z0-9_]*)?$(?!\n)"


def _read_topic_part(value: object) -> str:
    """Return a name that can be part of a topic, or ""; raises InvalidValueError."""
    if isinstance(value, str) and re.fullmatch(_TOPIC_PART, value):
        return value
    raise InvalidValueError(f"must be letters, digits and _, and begin with no digit, got {value!r}")


def _read_datum(value: object) -> tuple[float, float, float] | None:
    """Return latitude and longitude in degrees, and a heading in rad; None for None; raises InvalidValueError."""
    if value is None:
        return None
    count = len(value) if isinstance(value, (list, tuple)) else 0
    if count not in (2, 3):
        raise InvalidValueError(f"must be [latitude, longitude] or [latitude, longitude, heading], got {value!r}")
    latitude, longitude, heading = (*as_floats(value, (count,), "datum").tolist(), 0.0)[:3]
    if abs(latitude) >= 89.0 or abs(longitude) > 180.0 or abs(heading) > 10.0:
        raise InvalidValueError(
            f"must be a latitude within 89 degrees, a longitude and a heading in rad, got {value!r}"
        )
    return latitude, longitude, heading


_DATUM_SCHEMA: Mapping[str, Any] = {
    "anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}]
}
_PER_ROBOT_SCHEMA: Mapping[str, Any] = {
    "anyOf": [{"enum": ["all", "none"]}, {"type": "array", "items": {"type": "string"}}]
}


class RateParams(UsedSettings):
    """Publishing rates, per second of simulation time; null: in each step, 0: never."""

    clock: float | None = setting(100.0, low=0, unit=RATE, doc="Rate of /clock.")
    tf: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of /tf for the bases of robots.")
    links: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of /tf for links moved by joints.")
    odom: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of odom of each robot.")
    joint_states: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of joint_states of each robot with joints.")
    plan: float | None = setting(
        2.0, low=0, unit=RATE, doc="Rate at which each robot's plan is checked; published only when it changed."
    )
    fleet_states: float | None = setting(10.0, low=0, unit=RATE, doc="Rate of /fleet/states.")
    markers: float | None = setting(5.0, low=0, unit=RATE, doc="Rate of /fleet/markers.")
    map: float | None = setting(
        1.0, low=0, unit=RATE, doc="Rate at which /map is checked; published only when it changed and is subscribed."
    )
    diagnostics: float | None = setting(1.0, low=0, unit=RATE, doc="Rate of /diagnostics.")
    feedback: float | None = setting(5.0, low=0, unit=RATE, doc="Rate of feedback of running goals.")


class RmfParams(UsedSettings):
    """The topics of Open-RMF; rates are per second of simulation time."""

    enabled: bool | None = setting(None, doc="Whether to publish them; null: only if the scenario has slotcars.")
    level: str = setting("L1", doc="Name of the level at height 0 in scenarios without a section `building`.")
    robot_state: float = setting(2.0, above=0, unit=RATE, doc="Rate of /robot_state of each robot.")
    door_states: float = setting(1.0, above=0, unit=RATE, doc="Rate of door_states of each door.")
    lift_states: float = setting(1.0, above=0, unit=RATE, doc="Rate of lift_states of each lift; also at each change.")
    charger_states: float = setting(
        2.0, above=0, unit=RATE, doc="Rate of rmf_charger/state of each charger; also at each change."
    )
    workcell_states: float = setting(0.5, above=0, unit=RATE, doc="Rate of the states of dispensers and ingestors.")


class Nav2Params(UsedSettings):
    """The interface of Nav2 that each robot has; rates are per second of simulation time."""

    enabled: bool = setting(False, doc="Whether robots have the complete interface; otherwise only navigate_to_pose.")
    initial_pose: Literal["ignore", "place"] = setting(
        "ignore", doc="Effect of initialpose. ignore: answer with the true pose; place: move the robot."
    )
    amcl_pose: float = setting(2.0, above=0, unit=RATE, doc="Rate of amcl_pose; also at each initialpose.")
    costmaps: float = setting(1.0, above=0, unit=RATE, doc="Rate at which map and costmaps are checked; see docs.")
    local_size: float = setting(3.0, above=0.1, high=100.0, unit="m", doc="Side of the local costmap.")
    inflation: float = setting(0.55, low=0.0, high=10.0, unit="m", doc="Radius of the costs around obstacles.")
    staging: float = setting(
        0.7, low=0.0, high=10.0, unit="m", doc="Distance before a dock from which robots drive in."
    )
    turn_speed: float = setting(1.0, above=0, high=100.0, unit="rad/s", doc="Speed of the action spin.")
    datum: Any = setting(
        None,
        reader=_read_datum,
        schema=_DATUM_SCHEMA,
        doc="Position of the map on the earth: latitude and longitude of its origin, and its heading from east in rad.",
    )


class RosParams(UsedSettings):
    """The `ros:` section of a scenario."""

    per_robot: Any = setting(
        "all", reader=_read_per_robot, schema=_PER_ROBOT_SCHEMA, doc="Robots that have their own topics and actions."
    )
    groups: list[Group] = setting(
        factory=lambda: ["commands", "state", "description", "actions", "sensors"],
        doc="Groups of interfaces that each of these robots has.",
    )
    cmd_vel_type: Literal["twist", "twist_stamped"] = setting("twist", doc="Message type of cmd_vel.")
    cmd_vel_timeout: float = setting(
        0.5, low=0, unit="s", doc="Simulated time after which a velocity command ends; 0 = never."
    )
    joint_controller: str = setting(
        "",
        reader=_read_topic_part,
        schema={"type": "string", "pattern": _TOPIC_PART},
        doc="Name of the ros2_control controller whose topics and actions joint trajectories use; empty: none.",
    )
    map_frame: str = setting("map", reader=read_frame, schema=FRAME_SCHEMA, doc="Name of the fixed frame.")
    map_resolution: float = setting(0.05, above=0, unit="m", doc="Cell size of /map.")
    map_height: float | None = setting(
        None, unit="m", doc="Height at which /map is cut; null: the height of the first lidar, or 0.2 without one."
    )
    robot_diagnostics: bool = setting(False, doc="Whether /diagnostics has a status of each robot.")
    rmf: RmfParams = setting(factory=RmfParams, doc="The topics of Open-RMF.")
    nav2: Nav2Params = setting(factory=Nav2Params, doc="The interface of Nav2 that each robot has.")
    rates: RateParams = setting(factory=RateParams, doc="Publishing rates of the interfaces.")

    @classmethod
    def from_scenario(cls, config: Mapping[str, Any], *, source: str = "") -> RosParams:
        """Return the `ros:` section of a scenario, or the defaults; raises ConfigError."""
        return RosSection().read(config.get("ros"), source)

    def has_own(self, robot: str, group: str) -> bool:
        """Return whether `robot` has the interfaces of `group`."""
        chosen = self.per_robot == "all" or (self.per_robot != "none" and robot in self.per_robot)
        return chosen and group in self.groups

    def in_joint_controller(self, name: str) -> str:
        """Return the name of a topic or an action of joint trajectories, below a robot."""
        return f"{self.joint_controller}/{name}" if self.joint_controller else name


class RosSection(SettingsSection[Any]):
    """The section `ros`. The node opens it, as interfaces need a simulation that is already built."""

    def __init__(self) -> None:
        super().__init__("ros", RosParams, _check_robots, "The ROS 2 interfaces of the simulation.")

    def prepare(self, sim: Any, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError if the settings are invalid, also where nobody uses them."""
        self.check(entry, source=source)


def _check_robots(sim: Any, settings: RosParams, source: str) -> None:
    """Raise an error for a robot in `per_robot` that is not there, unless all robots are spawned later."""
    names = settings.per_robot
    if isinstance(names, str) or not sim.population.scenario.get("robots"):
        return
    robots = [robot.name for robot in sim.agents if robot.name]
    for place, name in enumerate(names):
        if name not in robots:
            with located(f"per_robot[{place}]"):
                raise unknown_name("robot", name, robots)
