"""Named choices for code and config files, each equal to its string value.

Columns store the small integer `code` of a choice, files and messages its string value.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

from fleet_sim.errors import InvalidValueError, did_you_mean, unknown_name
from fleet_sim.saved_classes import saved

ModeT = TypeVar("ModeT", bound="Mode")

EngineChoice: TypeAlias = Literal["auto", "bullet", "mujoco"]
"""What moves dynamic bodies: PyBullet, MuJoCo, or whichever is installed, PyBullet first."""
PoseFlush: TypeAlias = Literal["step", "demand"]
"""When moved poses are written to the engine: in each step, or when the engine is queried."""

CompiledCodeUse: TypeAlias = Literal["auto", "always", "never"]
"""When the step uses compiled code: where there is much to do, or in each world, or in none."""


class Mode(str, Enum):
    """A choice that equals its string value: `MotionMode.DIFFERENTIAL == "differential"`; printed as its value.

    Constructed from its value; raises InvalidValueError with the closest value for any other.
    """

    @classmethod
    def _missing_(cls, value: object) -> None:
        hint = did_you_mean(str(value), [member.value for member in cls])
        raise InvalidValueError(f"{cls.__name__}: unknown value {value!r}.{hint}")

    def __str__(self) -> str:
        return str(self.value)

    @cached_property
    def code(self) -> int:
        """The integer that columns store for this choice: its index in the order of definition."""
        return list(type(self)).index(self)

    @classmethod
    def from_code(cls: type[ModeT], code: int) -> ModeT:
        """Return the choice with this integer `code` in columns; raises UnknownNameError."""
        members = list(cls)
        if not 0 <= code < len(members):
            raise unknown_name(f"{cls.__name__} code", code, map(str, range(len(members))))
        return members[code]

    @classmethod
    def parse(cls: type[ModeT], value: object) -> ModeT:
        """Return the choice with this value or name, ignoring case; raises InvalidValueError with the closest one."""
        return value if isinstance(value, cls) else cls(str(value).lower())


@saved
class MotionMode(Mode):
    """How a mobile base may move."""

    OMNIDIRECTIONAL = "omnidirectional"
    DIFFERENTIAL = "differential"
    ACKERMANN = "ackermann"
    """Like a car: it steers, and neither turns on the spot nor moves aside."""


@saved
class MovementDirection(Mode):
    """Which end of a differential base leads; AUTO chooses the end that needs the smaller turn."""

    FORWARD = "forward"
    BACKWARD = "backward"
    AUTO = "auto"


@saved
class RouteMode(Mode):
    """Where a route leads: along the lanes of a roadmap, across free space, or as it fits; NONE drives straight."""

    NONE = "none"
    AUTO = "auto"
    """Along the roadmap if the site has one that leads there, else, and around one node, across free space."""
    ROADMAP = "roadmap"
    GRID = "grid"

    @classmethod
    def parse(cls, value: object) -> RouteMode:
        """Return the mode with this value or name; True is AUTO, False and None are NONE."""
        if value is None or isinstance(value, bool):
            return cls.AUTO if value else cls.NONE
        return super().parse(value)


@saved
class ControllerMode(Mode):
    """What a base currently follows: nothing, a velocity command, or a goal pose."""

    IDLE = "idle"
    VELOCITY = "velocity"
    POSE = "pose"


@saved
class PosePhase(Mode):
    """The current phase of a differential goal: turning on the spot, or driving along the line."""

    ROTATE = "rotate"
    FORWARD = "forward"


@saved
class ActionStatus(Mode):
    """The state of an action; the last three are final."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@saved
class ActionCause(Mode):
    """Machine-readable cause of an action that ended without success; its `error_message` explains it in words."""

    INVALID_GOAL = "invalid_goal"
    """The goal is invalid, e.g. an empty path or an unknown link."""
    UNKNOWN_ROBOT = "unknown_robot"
    """The robot was removed."""
    UNKNOWN_OBJECT = "unknown_object"
    """There is no such object, it cannot be picked, or the robot does not carry it."""
    UNREACHABLE = "unreachable"
    """The robot cannot reach the goal."""
    BLOCKED = "blocked"
    """A body stands in the way, which the message names."""
    TIMEOUT = "timeout"
    """The action's timeout has passed."""
    CANCELLED = "cancelled"
    """The action was cancelled on request."""
    PREEMPTED = "preempted"
    """Another command or action took over the robot."""
    SHUTDOWN = "shutdown"
    """The simulation was reset or shut down."""
    FAILED = "failed"
    """Anything else."""
    BATTERY_EMPTY = "battery_empty"
    """The robot's battery is empty."""


@saved
class CollisionMode(Mode):
    """How a body takes part in collision checks."""

    NORMAL_3D = "normal_3d"
    NORMAL_2D = "normal_2d"
    STATIC = "static"
    DISABLED = "disabled"


class CollisionDetectionMethod(Mode):
    """How collisions are decided: by distances, by the engine's contacts, or by contacts for dynamic bodies only."""

    CLOSEST_POINTS = "closest_points"
    CONTACT_POINTS = "contact_points"
    HYBRID = "hybrid"


class SpatialHashCellSizeMode(Mode):
    """How the cell size of the broad phase is chosen: given, recomputed when the number of bodies changes, or once."""

    CONSTANT = "constant"
    AUTO_ADAPTIVE = "auto_adaptive"
    AUTO_INITIAL = "auto_initial"
