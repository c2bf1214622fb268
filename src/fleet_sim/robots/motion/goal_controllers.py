"""Controllers in Python, one per agent, by name: goals one after the other, patrols, random walks, and your own."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from fleet_sim.base.arrays import as_float, as_floats
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StateError, unknown_name
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import MotionMode
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.settings import read
from fleet_sim.base.settings.poses import read_pose
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.agent import Agent, ControllerPlan
from fleet_sim.robots.joint_arguments import check_arguments
from fleet_sim.robots.spawn_params import ControllerParams
from fleet_sim.world.steering import IDLE

# Controllers in plain Python, one per agent: simple to write, but slow for large fleets.


class AgentController(ABC):
    """Steers one agent: called in each step before the laws move the robots.

    It commands a velocity, a goal or a path like any other caller; the agent's motion law executes it in the same step,
    within the limits. This costs one Python call per agent and step: for large fleets write a MotionLaw.
    """

    @abstractmethod
    def compute(self, agent: Agent, dt: float) -> None:
        """Command `agent` for the step of `dt` seconds that begins."""

    def save(self) -> dict[str, Any]:
        """Return the controller's state for checkpoints and reset: its attributes.

        The copy is shallow: assign new values to attributes instead of changing them in place.
        """
        return dict(vars(self))

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned."""
        vars(self).clear()
        vars(self).update(saved)


# GoalController: drives one agent from goal to goal, with waits in between.


log = logging.getLogger("fleet_sim.robots.motion")


class GoalController(AgentController):
    """Sends its agent to the next goal when it has arrived at one and waited.

    It holds back while the agent works on actions, follows somebody else's goal or velocity, or is carried, and goes
    on afterwards. A goal inside of a static body, or one that the agent gives up as such a body blocks it, is left out.
    An agent that was stopped on the way stays where it is until `resume()`. One controller steers one agent.
    """

    def __init__(self) -> None:
        self._agent: Agent | None = None
        self._underway = False
        self._suspended = False
        self._gives_up = False
        self._wait_until: float | None = None

    @abstractmethod
    def next_goal(self, agent: Agent) -> Pose | None:
        """Return the next goal, or None after the last one."""

    @abstractmethod
    def wait_after(self, agent: Agent) -> float:
        """Return how long to wait at the goal just reached, in s of simulation time."""

    def resume(self) -> None:
        """Go on after the agent was stopped."""
        self._suspended = False

    def compute(self, agent: Agent, dt: float) -> None:
        """Set the next goal when it is time to; raises StateError for a second agent."""
        if self._agent is None:
            self._agent = agent
        elif self._agent != agent:
            raise StateError(f"{type(self).__name__} steers {self._agent!r} already; give {agent!r} one of its own")
        world, row = agent.world, agent.row
        if world.actions.queued(row) or agent.is_attached():
            self._underway = False
            return
        if world.motion.control[row] != IDLE or not agent.can_move:
            # Asked while it still drives: in the motion of this step it gives its goal up.
            self._gives_up = drive.is_blocked_too_long(world, row)
            return
        if self._underway and not self._arrived(agent):
            return
        if not self._suspended and not self._waiting(agent):
            self._set_off(agent)

    def _arrived(self, agent: Agent) -> bool:
        """Note an arrival, or that the agent was stopped; returns whether it arrived."""
        self._underway = False
        if agent.is_goal_reached():
            self._wait_until = agent.world.clock.time + self.wait_after(agent)
            return True
        if self._gives_up:
            return True
        # It neither drives nor has arrived: somebody has stopped it.
        self._suspended = True
        return False

    def _waiting(self, agent: Agent) -> bool:
        # The tolerance, as a sum of steps may fall short of the time by rounding.
        return self._wait_until is not None and agent.world.clock.time < self._wait_until - 1e-9

    def _set_off(self, agent: Agent) -> None:
        self._wait_until = None
        goal = self.next_goal(agent)
        if goal is None:
            return
        try:
            agent.set_goal_pose(goal)
        except InvalidValueError as error:
            # The next one in the next step, so that goals without end cannot keep this one from ending.
            log.info("%r leaves a goal out: %s", agent.world.label(agent.row), error)
            return
        self._underway, self._gives_up = True, False


# Patrol: a round of waypoints.


class Patrol(GoalController):
    """Drives to `waypoints` in turn and waits `wait_time` s at each; with `loop` for ever, else once.

    A waypoint is a Pose, [x, y, z], [x, y, z, yaw] or a mapping as in a scenario file, in the world frame.
    """

    def __init__(self, waypoints: Iterable[Any], wait_time: float = 0.0, loop: bool = True) -> None:
        super().__init__()
        self.waypoints = tuple(_waypoint(entry) for entry in waypoints)
        if not self.waypoints:
            raise InvalidValueError("patrol: waypoints must not be empty")
        self.wait_time = as_float(wait_time, "patrol: wait_time in s", low=0.0, high=LONGEST_TIME)
        self.loop = loop
        self._index = 0

    def next_goal(self, agent: Agent) -> Pose | None:
        """Return the next waypoint."""
        index = self._index
        if index >= len(self.waypoints) and not self.loop:
            return None
        self._index += 1
        return self.waypoints[index % len(self.waypoints)]

    def wait_after(self, agent: Agent) -> float:
        """Return the time to wait at a waypoint."""
        return self.wait_time


def _waypoint(entry: Any) -> Pose:
    try:
        pose = read_pose(entry)
    except InvalidValueError as error:
        raise InvalidValueError(f"patrol: waypoint {entry!r}: {error}") from error
    if pose is None:
        raise InvalidValueError("patrol: a waypoint must be a pose, got None")
    return pose


# RandomWalk: from one random place to the next.


class RandomWalk(GoalController):
    """Drives to random positions, uniform in a disc of `radius` m around the robot's first position.

    At each it waits a time drawn from `wait_range` (s). It arrives facing the way it went and keeps its height.
    Draws come from the simulation's seed, from a stream of the agent's own: other agents do not change them.
    """

    def __init__(self, radius: float = 5.0, wait_range: Sequence[float] = (1.0, 5.0)) -> None:
        super().__init__()
        self.radius = as_float(radius, "random_walk: radius in m", low=0.0)
        low, high = as_floats(wait_range, (2,), "random_walk: wait_range in s").tolist()
        if not 0.0 <= low <= high:
            raise InvalidValueError(
                f"random_walk: wait_range must be [least, most] with 0 <= least <= most, got {wait_range!r}"
            )
        self.wait_range = (low, high)
        self._home: Pose | None = None

    def next_goal(self, agent: Agent) -> Pose | None:
        """Return a random place, facing away from here."""
        here = agent.get_pose()
        home = self._home = self._home or here
        reach, angle = _stream(agent).random(2).tolist()
        # The area within a radius grows with its square, so the root spreads places evenly.
        distance = self.radius * math.sqrt(reach)
        sine, cosine = trig.sin_cos_of(2.0 * math.pi * angle)
        x, y = home.x + distance * cosine, home.y + distance * sine
        return Pose.from_yaw(x, y, here.z, trig.atan2_of(y - here.y, x - here.x))

    def wait_after(self, agent: Agent) -> float:
        """Return a random time."""
        low, high = self.wait_range
        waiting: float = low + (high - low) * _stream(agent).random()
        return waiting


def _stream(agent: Agent) -> np.random.Generator:
    return agent.world.random.stream(f"random_walk {agent.world.label(agent.row)}")


_LAWS: dict[str, str] = {
    "omni": MotionMode.OMNIDIRECTIONAL.value,
    "differential": MotionMode.DIFFERENTIAL.value,
    "ackermann": MotionMode.ACKERMANN.value,
    "batch_omni": MotionMode.OMNIDIRECTIONAL.value,
    "batch_differential": MotionMode.DIFFERENTIAL.value,
}
"""Names of motion laws: these take the parameters of ControllerParams and cost no Python per agent."""


def _check_not_a_law(name: str, cls: type[AgentController]) -> None:
    """Raise DuplicateNameError where a spawn entry that says `name` would get a motion law."""
    if name in _LAWS:
        raise DuplicateNameError(f"{name!r} stands for a motion law; choose another name for {cls.__name__}")


CONTROLLERS = Registry(
    "controller",
    subclasses_of(AgentController),
    group="fleet_sim.controller",
    built_in={"patrol": Patrol, "random_walk": RandomWalk},
    check=_check_not_a_law,
)
"""Controllers in Python by name."""


def list_controllers() -> list[str]:
    """Return the names of all controllers, in alphabetical order."""
    return sorted({*_LAWS, *CONTROLLERS})


def register_controller(name: str, cls: type[AgentController]) -> None:
    """Make the class `cls` known as `name`; raises DuplicateNameError, or InvalidValueError for anything else."""
    CONTROLLERS.register(name, cls)


def create_controller(name: str, params: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """Return a new controller from its name and parameters.

    A name may be a dotted path. The names of motion laws give the ControllerParams they run with. Raises
    UnknownNameError and InvalidValueError (ConfigError for ControllerParams).
    """
    given = {**(params or {}), **more}
    if name in _LAWS:
        return read(ControllerParams, given)
    return _maker(_class_named(name), given, f"controller {name!r}")()


def plan(spec: Any) -> ControllerPlan:
    """Return what `spec` asks for: a name, a mapping, an AgentController or its class, or a list of these.

    A mapping has `type`, a registered name or the dotted path of an AgentController (which `class` may be, too); the
    other keys are its parameters, and those of ControllerParams. Without either it is ControllerParams alone. In a list
    the base comes first; controllers further on run before those in front of them.
    """
    entries = spec if isinstance(spec, (list, tuple)) else [spec]
    law: str | None = None
    limits: dict[str, Any] = {}
    makers: list[Callable[[], AgentController]] = []
    for entry in entries:
        entry_law, entry_limits, maker = _plan_one(entry)
        law = law or entry_law
        # Entries in front win.
        limits = {**entry_limits, **limits}
        makers += [maker] if maker is not None else []
    params = read(ControllerParams, limits, path="controller")
    return ControllerPlan(params, law, partial(_make_all, makers) if makers else list)


def _make_all(makers: Sequence[Callable[[], AgentController]]) -> list[AgentController]:
    return [maker() for maker in makers]


def _plan_one(spec: Any) -> tuple[str | None, Mapping[str, Any], Callable[[], AgentController] | None]:
    """Return (motion law, limits, maker) of one entry."""
    if isinstance(spec, ControllerParams):
        return None, {key: value for key, value in vars(spec).items() if value is not None}, None
    if callable(getattr(spec, "compute", None)) and not isinstance(spec, type):
        return None, {}, lambda: spec
    if isinstance(spec, type) and issubclass(spec, AgentController):
        return None, {}, _maker(spec, {}, f"controller {spec.__name__}")
    if isinstance(spec, str):
        spec = {"type": spec}
    if not isinstance(spec, Mapping):
        raise InvalidValueError(
            f"controller: expected a name ({', '.join(list_controllers())}), a mapping with `type` or `class`, "
            f"ControllerParams, an object with compute(agent, dt) or a list of these, got {spec!r}"
        )
    return _plan_mapping(dict(spec))


def _plan_mapping(spec: dict[str, Any]) -> tuple[str | None, Mapping[str, Any], Callable[[], AgentController] | None]:
    """Return the law by its name, the limits, and what makes the controller, of a mapping as in a scenario file.

    For the built-in laws the maker is None. Raises UnknownNameError for another type, and InvalidValueError for both a
    type and a class, or for arguments that the class does not have.
    """
    name, path = spec.pop("type", None), spec.pop("class", None)
    if name is not None and path is not None:
        raise InvalidValueError("controller: give either type or class, not both")
    if not isinstance(name, (str, NoneType)):
        raise unknown_name("controller", name, list_controllers())
    if name in _LAWS or (name is None and path is None):
        return (None if name is None else _LAWS[name]), spec, None
    cls = _class_named(name) if path is None else CONTROLLERS.at(str(path))
    limits = {key: spec.pop(key) for key in list(spec) if key in ControllerParams.__dataclass_fields__}
    return None, limits, _maker(cls, spec, f"controller {name or path!r}")


def _class_named(name: Any) -> type[AgentController]:
    # Asked here and not by the registry, whose suggestions do not include the laws.
    if not isinstance(name, str) or (name not in CONTROLLERS and not set(name) & {".", ":"}):
        raise unknown_name("controller", name, list_controllers())
    return CONTROLLERS.find(name)


def _maker(cls: type[AgentController], given: Mapping[str, Any], what: str) -> Callable[[], AgentController]:
    """Return what makes a controller of `cls`; raises InvalidValueError now for arguments that it does not have.

    What its constructor says against their values is raised as InvalidValueError, too, when one is made.
    """
    check_arguments(cls, given, what)

    def make() -> AgentController:
        try:
            return cls(**given)
        except (TypeError, ValueError) as error:
            raise InvalidValueError(f"{what}: {error}") from error

    return make
