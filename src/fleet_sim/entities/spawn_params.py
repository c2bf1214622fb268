"""What objects and agents are spawned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.settings import read
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.modes import CollisionMode, MotionMode, MovementDirection

Limit = float | Sequence[float]


@dataclass
class SimObjectSpawnParams:
    """An object to be: shapes, pose, mass in kg (0: kinematic) and how it takes part in collisions.

    `visual_frame_pose` and `collision_frame_pose` place the shapes in the body, over the shapes' own frame poses.
    """

    visual_shape: ShapeParams | None = None
    collision_shape: ShapeParams | None = None
    initial_pose: Pose = field(default_factory=lambda: Pose((0.0, 0.0, 0.0)))
    mass: float = 0.0
    pickable: bool = True
    name: str | None = None
    visual_frame_pose: Pose | None = None
    collision_frame_pose: Pose | None = None
    collision_mode: CollisionMode = CollisionMode.NORMAL_3D
    block_on_collision: bool | None = None
    user_data: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> SimObjectSpawnParams:
        """Read a mapping as in a scenario file; `name` is mandatory, `pose: [x, y, z]` and `yaw` are accepted."""
        return read_spawn_params(cls, config)


@dataclass
class ControllerParams:
    """Limits and habits of a mobile base; None takes the default.

    Limits in m/s, m/s2, rad/s, rad/s2: one number limits the magnitude, three limit each body axis.
    `cmd_vel_timeout` in s of simulation time after which a velocity command is dropped; 0 never.
    `navigation_2d` makes goals keep the robot's height, roll and pitch.
    """

    max_linear_vel: Limit | None = None
    max_linear_accel: Limit | None = None
    max_angular_vel: Limit | None = None
    max_angular_accel: Limit | None = None
    cmd_vel_timeout: float | None = None
    navigation_2d: bool | None = None
    default_direction: MovementDirection | None = None


LIMIT_DEFAULTS = {
    "max_linear_vel": 2.0,
    "max_linear_accel": 5.0,
    "max_angular_vel": 3.0,
    "max_angular_accel": 10.0,
}


@dataclass
class AgentSpawnParams(SimObjectSpawnParams):
    """An agent to be: an object that drives.

    The limits may be given here or in `controller` (a ControllerParams or a mapping of its fields, with `type:` naming a
    registered controller); here they win. `use_fixed_base` makes an agent that never drives.
    """

    urdf_path: str | None = None
    motion_mode: MotionMode | str = MotionMode.DIFFERENTIAL
    use_fixed_base: bool = False
    max_linear_vel: Limit | None = None
    max_linear_accel: Limit | None = None
    max_angular_vel: Limit | None = None
    max_angular_accel: Limit | None = None
    controller: Any = None
    plugins: Any = None

    def limit(self, name: str, controller: ControllerParams) -> tuple[Floats, float]:
        """Return (limits per axis (3,), limit of the norm) of the setting `name`; raises InvalidValueError."""
        value = getattr(self, name)
        if value is None:
            value = getattr(controller, name)
        if value is None:
            value = LIMIT_DEFAULTS[name]
        return limit_columns(value, name)


def limit_columns(value: object, name: str) -> tuple[Floats, float]:
    """Return a limit as columns hold it: (per axis (3,), norm); raises InvalidValueError unless above 0."""
    if isinstance(value, (int, float)):
        norm = as_float(value, name, low=0.0)
        if norm == 0.0:
            raise InvalidValueError(f"{name}: must be above 0, got {value!r}; use use_fixed_base for what never moves")
        return as_floats([norm] * 3, (3,), name), norm
    axes = as_floats(value, (3,), name)
    if axes.min() < 0.0 or axes.max() == 0.0:
        raise InvalidValueError(f"{name}: one number above 0, or three of at least 0 of which one is above, got {value!r}")
    return axes, float("inf")


def read_spawn_params(cls: type[Any], config: Mapping[str, Any], source: str = "", path: str = "") -> Any:
    """Read spawn params of type `cls` from a mapping; raises ConfigError for anything unknown or out of range."""
    data = dict(config)
    pose = data.pop("pose", None)
    yaw = data.pop("yaw", 0.0)
    if pose is not None:
        numbers = as_floats(pose, (len(pose),) if isinstance(pose, Sequence) else (3,), "pose")
        if len(numbers) < 3:
            raise InvalidValueError(f"pose: expected [x, y, z] in m, got {pose!r}")
        data["initial_pose"] = Pose.from_yaw(*numbers[:3].tolist(), as_float(yaw, "yaw in rad"))
    if not data.get("name"):
        raise InvalidValueError(f"an entry needs a name; its keys are: {', '.join(f.name for f in fields(cls))}")
    return read(cls, data, source=source, path=path)
