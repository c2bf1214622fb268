"""Controllers by name: what a spawn entry's `controller` may say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any

from fleet_sim.config.modes import MotionMode
from fleet_sim.entities.arguments import check_arguments
from fleet_sim.entities.controller_plan import ControllerPlan
from fleet_sim.entities.spawn_params import ControllerParams
from fleet_sim.errors import DuplicateNameError, InvalidValueError, unknown_name
from fleet_sim.motion.controller import AgentController
from fleet_sim.motion.controllers.patrol import Patrol
from fleet_sim.motion.controllers.random_walk import RandomWalk
from fleet_sim.registry import Registry, subclasses_of
from fleet_sim.settings import read

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
