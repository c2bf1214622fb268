"""Commands: immutable requests to robots and to the world, by name, for one or many robots at once.

Arrays in a command are aligned with `names`. A command is applied in phase 1 of the next step (see Inbox), or, if its
class requires it, between two steps; the last command to a robot wins and cancels its running action.

Commands are values: equal ones compare equal, they can be pickled, and all but `Call` can be written as plain data
(`to_dict`) and read back (`Command.from_dict`), which is what a log of them is made of. Names of frames are here, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.world.world import World

# Functions that freeze, compare, write (as plain data) and strictly read the fields of commands.


_TYPES: WeakKeyDictionary[type, tuple[dict[str, Any], dict[str, bool]]] = WeakKeyDictionary()
"""Of each class, what its fields are declared as, and whether that is an array."""


def field_types(cls: type[Any]) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, by name."""
    return _types_of(cls)[0]


def _types_of(cls: type[Any]) -> tuple[dict[str, Any], dict[str, bool]]:
    known = _TYPES.get(cls)
    if known is None:
        # Evaluated anew each time, which every new command would pay for.
        hints = get_type_hints(cls)
        types = {item.name: hints[item.name] for item in fields(cls)}
        arrays = {name: any(_origin(kind) is np.ndarray for kind in _alternatives(types[name])) for name in types}
        known = _TYPES[cls] = types, arrays
    return known


def frozen(value: Any, array: bool) -> Any:
    """Return `value` in the form a command stores: numbers in a read-only copy where an `array` is, lists as tuples.

    A value that does not fit is returned unchanged: it is rejected with a reason when the command is applied.
    """
    # NumPy would turn "1.5" and True into numbers, and they would no longer be rejected.
    if value is None or isinstance(value, (str, bool)):
        return value
    if array:
        try:
            numbers = np.array(value, np.float64)
        except (TypeError, ValueError, OverflowError):
            return value
        numbers.flags.writeable = False
        return numbers
    return tuple(value) if isinstance(value, list) else value


def equal(one: Any, other: Any) -> bool:
    """Return whether two fields are equal; NaN equals NaN."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    # `==` with one array gives an array and no answer.
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    return bool(one == other)


def plain(value: Any, where: str) -> Any:
    """Return `value` as JSON data; raises InvalidValueError naming `where` for a value that cannot be written."""
    if value is None or isinstance(value, (bool, int, float, str)):
        # String enumerations are written as their string.
        return str(value) if isinstance(value, str) else value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_key(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise InvalidValueError(
        f"{where}: {value!r} cannot be written as plain data; use numbers, texts, lists and mappings of them"
    )


def read(value: Any, hint: Any, where: str) -> Any:
    """Return the plain `value` converted to the type `hint`; raises InvalidValueError naming `where`."""
    kinds = _alternatives(hint)
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        if _origin(kind) is np.ndarray:
            # The right shape of arrays depends on the other fields, so it is checked when the command is applied.
            if isinstance(value, list):
                return value
        elif get_origin(kind) is tuple:
            if isinstance(value, list):
                return tuple(read(item, get_args(kind)[0], f"{where}[{index}]") for index, item in enumerate(value))
        elif kind is Any:
            return value
        elif isinstance(kind, type) and issubclass(kind, tuple):
            # A NamedTuple: a list of its fields, all of them.
            parts = get_type_hints(kind)
            if isinstance(value, list) and len(value) == len(parts):
                named = zip(value, parts.items(), strict=True)
                return kind(*(read(item, part, f"{where}.{name}") for item, (name, part) in named))
        elif kind is float:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
        elif isinstance(value, get_origin(kind) or kind):
            return value
    wanted = " or ".join(_WORDS.get(_origin(kind) or kind, str(kind)) for kind in kinds)
    raise InvalidValueError(f"{where}: expected {wanted}, got {value!r}")


_WORDS: dict[Any, str] = {
    NoneType: "nothing",
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text",
    tuple: "a list",
    np.ndarray: "a list of numbers",
    Mapping: "a mapping",
}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _origin(hint: Any) -> Any:
    origin = get_origin(hint)
    # Since NumPy 2.5, NDArray[...] is an alias of the language: its origin is the alias and not the array.
    return np.ndarray if origin is npt.NDArray else origin


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidValueError(f"{where}: the key {key!r} cannot be written; JSON has texts as keys only")
    return key


# What a command is: an immutable value that can be written as plain data, and the registry that reads it back.


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    # Read by type checkers only; Python 3.10 has none.
    def dataclass_transform(**_options: Any) -> Callable[[Any], Any]:
        return lambda function: function


# eq=False, here and in `command`: the generated `__eq__` fails on arrays and would hide the one below.
@dataclass(frozen=True, kw_only=True, eq=False)
class Command:
    """Base of all commands. `command_id` and `source` are returned in the acknowledgement.

    A `remote` one came from another process, and is carried out as input from outside.
    """

    between_steps: ClassVar[bool] = False
    """Whether the command is applied between two steps, never inside one."""

    of_operator: ClassVar[bool] = False
    """Whether what it does is the operator's whoever asks, such as going back to the world that he began with."""

    feature: ClassVar[str] = ""
    """For commands of features: the feature that executes it; the simulation starts to use that feature."""

    once: ClassVar[bool] = False
    """Whether it is a message that nobody sends again where a radio loses it, as those on topics are."""

    command_id: str = ""
    source: str = ""
    remote: bool = False

    def __post_init__(self) -> None:
        for name, array in _types_of(type(self))[1].items():
            # Copied: the caller may still change the arrays it passed.
            object.__setattr__(self, name, frozen(getattr(self, name), array))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(equal(getattr(self, name), getattr(other, name)) for name in field_types(type(self)))

    def __hash__(self) -> int:
        # Arrays have no hash. Equal commands still get equal hashes, which is all a hash must guarantee.
        return hash((type(self), self.command_id, self.source))

    @property
    def runs_code(self) -> bool:
        """Whether applying the command may run user code, which may read any state."""
        return False

    def from_outside(self) -> Command:
        """Return this command as one that came from another process."""
        other = copy(self)
        # Its arrays are frozen already.
        object.__setattr__(other, "remote", True)
        return other

    def ack(self, time: float, accepted: Iterable[str] = (), rejected: Mapping[str, str] | None = None) -> CommandAck:
        """Return the acknowledgement of this command, carried out at the simulated `time` in s."""
        return CommandAck(self.command_id, self.source, time, tuple(accepted), dict(rejected or {}))

    def to_dict(self) -> dict[str, Any]:
        """Return the command as plain data: its `type` and all fields that differ from their defaults.

        Raises InvalidValueError for a value that cannot be written, such as a function.
        """
        kind = type_of(type(self))
        data: dict[str, Any] = {"type": kind}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.default is MISSING or not equal(value, item.default):
                data[item.name] = plain(value, f"{kind}.{item.name}")
        return data

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Command:
        """Return the command in `data`, as written by `to_dict` or by hand.

        Raises UnknownNameError for an unknown type, and InvalidValueError for an invalid, unknown or missing key.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
            raise InvalidValueError(f"expected a mapping with the type of a command, got {data!r}")
        cls = COMMANDS.get(data["type"])
        hints, values = field_types(cls), dict(data)
        kind = values.pop("type")
        for key in values:
            if key not in hints:
                raise InvalidValueError(f"{kind}: unknown key {key!r}.{did_you_mean(str(key), hints)}")
        for item in fields(cls):
            if item.name not in values and item.default is MISSING:
                raise InvalidValueError(f"{kind}: {item.name!r} is missing")
        return cls(**{key: read(value, hints[key], f"{kind}.{key}") for key, value in values.items()})


COMMANDS = Registry("command", subclasses_of(Command), group="fleet_sim.command")
"""All commands that can be read from plain data, by type."""


_C = TypeVar("_C", bound=Command)


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
def command(name: str) -> Callable[[type[_C]], type[_C]]:
    """Make a subclass of Command, with its fields, one that logs know as `name`."""

    def made(cls: type[_C]) -> type[_C]:
        return COMMANDS.register(name)(dataclass(frozen=True, kw_only=True, eq=False)(cls))

    return made


def type_of(cls: type[Command]) -> str:
    """Return the registered name of a command class; raises InvalidValueError if it is not registered."""
    # Few classes, asked for only where commands are written: a search will do.
    for name, known in COMMANDS.registered().items():
        if known is cls:
            return name
    raise InvalidValueError(
        f"{cls.__name__} is no command that can be written; put @command('name') of fleet_sim.world.commands above it"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedCommand(Command):
    """Base of the commands for some robots or objects, by their `names`; the acknowledgement says who takes part."""

    names: tuple[str, ...]


@command("navigate")
class Navigate(NamedCommand):
    """Drive to goals: `positions` (N, 3) in m, `orientations` (N, 4) xyzw, world frame.

    With `route` each takes a route, as MoveTo does, and robots in the traffic are sent by it; one whose goal the
    traffic refuses is rejected, and keeps the goal that it has.
    """

    once: ClassVar[bool] = True

    positions: Floats
    orientations: Floats
    route: bool = False


@command("follow_path")
class FollowPath(Command):
    """Follow waypoints, `positions` (M, 3) and `orientations` (M, 4), with one robot."""

    once: ClassVar[bool] = True

    name: str
    positions: Floats
    orientations: Floats


@command("set_velocity")
class SetVelocity(NamedCommand):
    """Drive with body twists: `linear` (N, 3) in m/s, `angular` (N, 3) in rad/s.

    `timeout` in s of simulation time: None uses each robot's own, 0 means no timeout.
    """

    once: ClassVar[bool] = True

    linear: Floats
    angular: Floats
    timeout: float | None = None


@command("set_joints")
class SetJoints(NamedCommand):
    """Move joints to `positions` (N, K) in rad or m, or at `velocities` (N, K) in rad/s or m/s: one of the two.

    `joint_names` (K,) are the same for all robots; empty: all movable joints, in order. `max_force` (N m or N) limits
    motors.
    """

    once: ClassVar[bool] = True

    joint_names: tuple[str, ...] = ()
    positions: Floats | None = None
    velocities: Floats | None = None
    max_force: float = 500.0


@command("stop")
class Stop(Command):
    """Stop bases and joints at once and cancel all actions; no names: the whole fleet."""

    once: ClassVar[bool] = True

    names: tuple[str, ...] = ()


@command("set_poses")
class SetPoses(NamedCommand):
    """Set poses of objects or robots: `positions` (N, 3), `orientations` (N, 4), world frame.

    Without `preserve_velocity` their velocities become zero.
    """

    positions: Floats
    orientations: Floats
    preserve_velocity: bool = True


@command("execute_action")
class ExecuteAction(NamedCommand):
    """Run actions, one per robot. `replace`: cancel running and queued actions; else append to the queue.

    An action is an Action, or a mapping of its `type` and parameters as in a scenario file; only mappings can be
    written to logs. The acknowledgement's `value` holds the accepted actions by name.
    """

    actions: tuple[Any, ...]
    replace: bool = True

    @property
    def runs_code(self) -> bool:
        """Whether some of the actions may be user-defined."""
        return not all(type(action).__module__.startswith("fleet_sim.") for action in self.actions)


@command("cancel_actions")
class CancelActions(NamedCommand):
    """Cancel the running and queued actions and stop.

    With `goal`, cancel only actions from the ExecuteAction with that `command_id`, if they have not ended; robots that
    run other actions by now continue.
    """

    reason: str = "cancelled by command"
    goal: str = ""


@command("finish_actions")
class FinishActions(NamedCommand):
    """End running actions that wait for this, such as a TeleopAction, with success; robots without one are rejected."""


@command("attach")
class Attach(Command):
    """Attach an object to a robot, or detach it (`attach=False`; empty `object_name`: all objects it carries).

    `link` is the name of the link to attach it to; empty: the base. Without a name it is the nearest free object within
    `search_radius` m of the robot; one with a name is attached from wherever it is, unless `reach` in m limits it.
    """

    name: str
    object_name: str = ""
    attach: bool = True
    search_radius: float = 1.0
    link: str = ""
    reach: float | None = None


@command("remove")
class Remove(NamedCommand):
    """Remove entities."""


@command("spawn")
class Spawn(Command):
    """Spawn robots, then objects; entries are as in a scenario file. On an error, none of them is spawned.

    With `rename` a name that is taken gets a number: robot_0, robot_1. The acknowledgement has the names.
    """

    robots: tuple[Mapping[str, Any], ...] = ()
    objects: tuple[Mapping[str, Any], ...] = ()
    rename: bool = False

    @property
    def runs_code(self) -> bool:
        """Entries may have user-defined controllers and actions."""
        return True


@command("reset")
class Reset(Command):
    """Restore the initial state, see `sim.reset()`."""

    between_steps: ClassVar[bool] = True
    of_operator: ClassVar[bool] = True


@command("clear")
class Clear(Command):
    """Remove every entity and go back to time 0, see `sim.clear()`."""

    between_steps: ClassVar[bool] = True
    of_operator: ClassVar[bool] = True


@command("save_state")
class SaveState(Command):
    """Save the current state as `name`, in memory; replaces an earlier state of that name."""

    between_steps: ClassVar[bool] = True
    name: str


@command("restore_state")
class RestoreState(Command):
    """Restore the state saved as `name`."""

    between_steps: ClassVar[bool] = True
    of_operator: ClassVar[bool] = True
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Call(Command):
    """Call `function(sim)` in phase 1: for Python programs, and for requests without a command of their own.

    A function cannot be written as data, so a log with a Call cannot be saved.
    """

    function: Callable[[Any], object]

    @property
    def runs_code(self) -> bool:
        """Always: the function is user code."""
        return True


# CommandAck: the answer to a command.


@dataclass(frozen=True)
class CommandAck:
    """The robots a command was accepted for, and the reasons for rejecting others.

    `value` is the return value of a Call; for ExecuteAction, the accepted actions by name.
    """

    command_id: str = ""
    source: str = ""
    sim_time: float = 0.0
    accepted_names: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=dict)
    value: Any = None

    @property
    def ok(self) -> bool:
        """Whether nothing was rejected."""
        return not self.rejected


_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def is_ros_name(robot: str) -> bool:
    """Return whether a robot's name can be part of a topic: letters, digits and _, not beginning with a digit."""
    return _TOKEN.fullmatch(robot) is not None


class Frames:
    """Names of TF frames, prefixed with the node's namespace so that frames of two simulations differ."""

    def __init__(self, map_frame: str, namespace: str = "/") -> None:
        self.map = map_frame
        self._prefix = namespace.strip("/") + "/" if namespace.strip("/") else ""

    def odom(self, robot: str) -> str:
        """Origin of a robot's odometry; equal to the map frame, because the true odometry does not drift."""
        return f"{self._prefix}{robot}/odom"

    def base(self, robot: str) -> str:
        """The base of a robot."""
        return f"{self._prefix}{robot}/base_link"

    def link(self, robot: str, link: str) -> str:
        """A link of a robot, by its name in the description."""
        return f"{self._prefix}{robot}/{link}"

    def parts(self, frame: str) -> tuple[str, str]:
        """Return (robot, link) of a frame that may be one of a robot's."""
        robot, _, part = frame.removeprefix("/").removeprefix(self._prefix).rpartition("/")
        return robot, part

    def split(self, frame: str) -> tuple[str, str] | None:
        """Return (robot, "odom" or "base_link") of a robot's frame, else None."""
        robot, part = self.parts(frame)
        return (robot, part) if robot and part in ("odom", "base_link") else None


# How entities are named: by object id, by body id, or by name with the row looked up.


class ObjectId(int):
    """An entity's id in its simulation: an int in all respects, distinguished only where body ids are accepted too."""


class BodyId(int):
    """The id of a PyBullet body: an int in all respects; `object_id` is that of its entity."""

    object_id: int

    def __new__(cls, number: int, object_id: int = -1) -> BodyId:
        """Create the id `number` of the body of the entity `object_id`."""
        made = super().__new__(cls, number)
        made.object_id = object_id
        return made


class NamedRows(tuple[str, ...]):
    """Names, for the `names` of a command, with the rows already looked up, which is faster for a large fleet.

    In all other respects it is the plain tuple of names: it compares equal to it, and is pickled and copied as one. The
    rows are used only until an entity is spawned, removed or renamed in that world; after that the names are looked up.
    """

    _world: World
    _version: int
    _rows: Rows

    def __new__(cls, world: World, names: Iterable[str], rows: Rows, version: int | None = None) -> NamedRows:
        """`rows` (N,) are those of the entities called `names` in `world`, when it had `version`; None: now."""
        made = super().__new__(cls, names)
        made._world, made._rows = world, rows
        made._version = world.version if version is None else version
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def rows_in(self, world: World) -> Rows | None:
        """Return the rows if they are still valid in `world`, else None."""
        # Any spawn may reuse a row, so a single version number is compared for all of them.
        return self._rows if self._world is world and self._version == world.version else None
