"""Parameters of parts, declared once: range, unit and meaning for the constructor, configurations and the JSON schema.

A part is a dataclass whose fields are settings:

    @configured
    class Forward(Configured, Controller):
        speed: float = setting(0.3, low=0, unit="m/s", doc="Along the heading.")

The constructor takes them by keyword and checks them, and so does an assignment later. `__post_init__` is the place
for what goes across several.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform, overload

from fleet_sim.base.arrays import AnyArray
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError, did_you_mean
from fleet_sim.base.files import output_path
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import NO_RULES, Setting, as_number, describe, fields_of, shown
from fleet_sim.base.settings.reader import Where, convert
from fleet_sim.robots.joint_arguments import check_arguments
from fleet_sim.swarm.agent_config import SwarmBody
from fleet_sim.swarm.world_config import advice_on, refuse_keys, same, type_entry

# The base of controllers and sensors: their slot, their owner, and their memory per agent.


OWNERS = ("agent", "parent")
"""Names of the parameter by which a constructor gets the agent that the part is made for."""


class Component:
    """What an agent has: a controller or a sensor. `slot` is its place, such as "controller" or "sensors[0]"."""

    on_arrays: ClassVar[str]
    per_agent: ClassVar[str]
    """Names of the two methods of which a class overrides one."""

    agent: SwarmBody | None = None
    """The agent it belongs to; None for one that serves a whole group."""
    parent: SwarmBody | None = None
    """Another name of it, for components of the user's own."""
    slot: str = ""

    def __init__(self, agent: SwarmBody | None = None, parent: SwarmBody | None = None) -> None:
        """`agent` is the one it is made for; without it, the agent that gets it. `parent` is another name of it."""
        self.agent = agent or parent
        self.parent = parent or agent

    def belong_to(self, agent: SwarmBody | None) -> None:
        """Belong to `agent` from now on; None: to a whole group, or to no one yet."""
        # A parent that was given explicitly stays; one that only repeats the agent follows it.
        if self.parent is None or self.parent is self.agent:
            self.parent = agent
        self.agent = agent

    @classmethod
    def works_on_arrays(cls) -> bool:
        """Whether one instance serves a whole group; raises InvalidValueError where neither method is overridden."""
        known: bool | None = vars(cls).get(_FOUND)
        if known is None:
            # In the class itself, not in one that derives from it; asked in every step.
            known = _works_on_arrays(cls)
            setattr(cls, _FOUND, known)
        return known

    def column(
        self, group: Any, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0
    ) -> AnyArray:
        """Return what this component remembers per agent of `group` under `name`: an array (N, *shape), made at need.

        Write into it; it keeps its values while other agents come and go, and agents that join get `default`.
        """
        return group.column(f"{self.slot}.{name}", shape, dtype=dtype, default=default)


_FOUND = "_works_on_arrays"
"""Where a class keeps what was found of it."""


def _works_on_arrays(cls: type[Component]) -> bool:
    """Return whether the class works on groups, by the first of its bases that defines either method.

    Raises InvalidValueError for a class that defines neither.
    """
    for ancestor in cls.__mro__:
        # The base class of each kind names the methods; what it does itself counts for nothing.
        if "on_arrays" in vars(ancestor):
            break
        if cls.on_arrays in vars(ancestor):
            return True
        if cls.per_agent in vars(ancestor):
            _check_method(cls, vars(ancestor)[cls.per_agent])
            return False
    raise InvalidValueError(f"{cls.__name__} must define {cls.on_arrays}(self, group) or {cls.per_agent}(self, agent)")


def _check_method(cls: type[Component], method: Callable[..., Any]) -> None:
    """Refuse a method that wants the world: as an agent it would be given another thing than it expects."""
    # Entry 0 is `self`.
    first = list(inspect.signature(method).parameters)[1:2]
    if first == ["world"]:
        raise InvalidValueError(
            f"{cls.__name__}.{cls.per_agent}(self, world): it gets the agent, so write"
            f" {cls.per_agent}(self, agent); the world is agent.world"
        )


Cls = TypeVar("Cls", bound=type[Any])
Vector = tuple[float, float]

_MADE = "_is_made"
"""Marks parts whose constructor is done, and constructors that take the parameters and nothing else."""


class Configured:
    """Base of parts that declare their parameters as settings.

    A parameter that is set later is checked as in the constructor: where that would refuse it, together with the
    others as they are, InvalidValueError is raised and nothing changes. The same where it would have no effect.
    """

    follows: ClassVar[tuple[str, ...]] = ()
    """Attributes that `__post_init__` makes of parameters, and which follow where one of these is set later."""

    _given: dict[str, Any]

    def __post_init__(self) -> None:
        """Check what was given; raises InvalidValueError naming the class, the parameter and what is allowed."""
        # As it was given, to be written into files again; see `as_config_dict`.
        self._given = {name: getattr(self, name) for name in fields_of(type(self))}
        for name, field in fields_of(type(self)).items():
            try:
                value = convert(field.hint, getattr(self, name), field.rules, Where(path=name))
            except ConfigError as error:
                raise InvalidValueError(f"{type(self).__name__}: {error}") from error
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        # Not before the constructor is done, which checks all of them.
        if _MADE in own and name in own["_given"]:
            self._set_later(name, value)
        else:
            super().__setattr__(name, value)

    def settled(self) -> Collection[str]:
        """Return the parameters that would have no effect any more; to set one of them is refused."""
        return ()

    def _set_later(self, name: str, value: Any) -> None:
        """Set a parameter of a part that is made, and what follows from it."""
        if name in self.settled():
            raise self.refuse(f"`{name}` cannot be set any more: it has been used already; make another one")
        if not hasattr(type(self).__init__, _MADE) or not isinstance(self, Component):
            # Only the range is known of a part whose constructor takes other things too.
            field = fields_of(type(self))[name]
            try:
                super().__setattr__(name, convert(field.hint, value, field.rules, Where(path=name)))
            except ConfigError as error:
                raise InvalidValueError(f"{type(self).__name__}: {error}") from error
            return
        # One made anew is checked as a whole, and tells what `__post_init__` makes of the value.
        fresh = type(self)(**{**self.values_beside(name), name: value})
        for known in self._given:
            made = getattr(fresh, known)
            if known == name or not same(made, getattr(self, known)):
                super().__setattr__(known, made)
        for known in self.follows:
            made = getattr(fresh, known)
            # What was kept stays, as far as there is room for it now.
            super().__setattr__(known, deque(getattr(self, known), made.maxlen) if isinstance(made, deque) else made)

    def values_beside(self, name: str) -> dict[str, Any]:
        """Return the parameters as they are now, for one like this with another `name`."""
        return {known: getattr(self, known) for known in self._given}

    def as_config_dict(self) -> dict[str, Any]:
        """Return the entry of a configuration that makes a part like this one, with the values it has now."""
        fresh = type(self)(**self._given)
        now = {name: getattr(self, name) for name in self._given}
        # Parameters may go together, as two actions given as one list: all as given, or all as they are now.
        values = self._given if all(same(value, getattr(fresh, name)) for name, value in now.items()) else now
        defaults = {field.name: field.default for field in dataclasses.fields(fresh)}  # type: ignore[arg-type]  # it is one
        changed = {name: value for name, value in values.items() if not same(value, defaults[name])}
        return {"type": type_entry(type(self)), **changed}

    def refuse(self, message: str) -> InvalidValueError:
        """Return the error for parameters that do not go together, to be raised."""
        return InvalidValueError(f"{type(self).__name__}: {message}")


@overload
def configured(cls: Cls) -> Cls: ...
@overload
def configured(*, kw_only: bool = False) -> Callable[[Cls], Cls]: ...
@dataclass_transform(eq_default=False)
def configured(cls: Any = None, *, kw_only: bool = False) -> Any:
    """Make a dataclass of a part, whose constructor has the meaning of each parameter as its documentation.

    That of a controller or a sensor also takes the agent it is made for, anywhere or as `agent` or `parent`.
    """
    if cls is None:
        return functools.partial(configured, kw_only=kw_only)
    dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
    # The constructor that dataclass makes has no text of its own.
    lines = []
    for field in dataclasses.fields(cls):
        rules: Setting = field.metadata.get("setting", NO_RULES)
        unit = f" [{rules.unit}]" if rules.unit else ""
        lines.append(f"`{field.name}`: {rules.doc}{unit}")
    made = _with_owner(cls.__init__) if issubclass(cls, Component) else cls.__init__
    cls.__init__ = _noting(made)
    cls.__init__.__doc__ = "\n".join(lines)
    return cls


def _noting(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that notes when the part is made: from then on, parameters are checked when they are set."""

    @functools.wraps(constructor)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        constructor(self, *args, **kwargs)
        vars(self)[_MADE] = True

    setattr(init, _MADE, True)
    return init


def _with_owner(constructor: Callable[..., None]) -> Callable[..., None]:
    """Make a constructor take the agent that it is for, by position or as `agent` or `parent`."""

    @functools.wraps(constructor)
    def init(self: Component, *args: Any, **kwargs: Any) -> None:
        named = [kwargs.pop(name, None) for name in OWNERS]
        owners = {id(value): value for value in (*args, *named) if isinstance(value, SwarmBody)}
        strange = [value for value in named if value is not None and not isinstance(value, SwarmBody)]
        if strange or len(owners) > 1:
            raise InvalidValueError(
                f"{type(self).__name__}: `agent` and `parent` are the one agent it is made for,"
                f" got {[*strange, *owners.values()]}"
            )
        constructor(self, *(value for value in args if not isinstance(value, SwarmBody)), **kwargs)
        self.agent = next(iter(owners.values()), None)

    return init


def unbounded_setting(default: float, doc: str, *, unit: str) -> Any:
    """Return the setting of a number of 0 or more that may be infinite, such as how far a sensor reaches."""
    rules = Setting(low=0.0, unit=unit)

    def read(value: object) -> float:
        number = math.inf if value == math.inf else as_number(float, value, rules)
        if number is None:
            raise ValueError(f"must be {describe(float, rules)}, or infinite, got {shown(value)}")
        return float(number)

    return setting(default, reader=read, schema={"type": "number", "minimum": 0}, unit=unit, doc=doc)


def choice_setting(default: str | None, names: Sequence[str | None], doc: str) -> Any:
    """Return the setting of one of `names`; the error for an unknown one names the closest."""

    def read(value: object) -> str | None:
        if value in names:
            return value  # type: ignore[return-value]  # it is one of `names`
        known = [str(name) for name in names if name is not None]
        raise ValueError(f"unknown name {value!r}.{did_you_mean(str(value), known)}")

    return setting(default, reader=read, schema={"enum": list(names)}, doc=doc)


def team_setting(doc: str) -> Any:
    """Return the setting of a team to look for; None looks for all."""
    return setting(None, doc=f"{doc}; null: all.")


def seed_setting(what: str) -> Any:
    """Return the setting of a component's own seed."""
    return setting(None, low=0, doc=f"Seed of {what}; null: the world's.")


def file_setting(default: Any, doc: str, *, written: bool = False) -> Any:
    """Return the setting of a file, `written` or read, as text or as a Path; without a default it is required."""

    def read(value: object) -> Path | None:
        if isinstance(value, (str, Path)) and str(value):
            return output_path(Path(value)) if written else Path(value)
        if value is None and default is None:
            return None
        raise ValueError(f"must be the path of a file, got {shown(value)}")

    kinds = ["string", "null"] if default is None else ["string"]
    return setting(default, reader=read, schema={"type": kinds}, doc=doc)


# Parts of a world by name, and how a part is made from a mapping with a `type`. A `type` is a short name, a dotted
# path ("package.module:Class" or "package.module.Class"), or an entry point of the group "fleet_sim.swarm.<kind>" of
# an installed distribution. The other keys are keyword arguments of its constructor.


Part = TypeVar("Part")


class PartRegistry(Registry[type[Part]]):
    """The classes of one kind of part, all derived from `base`.

    Each kind has its registry beside its parts. Whoever makes such parts imports it, and so brings the built-in ones.
    """

    def __init__(
        self, kind: str, base: Callable[..., Part], built_in: Mapping[str, type[Part]], owners: Sequence[str] = ()
    ) -> None:
        """`built_in` may grow until the first look-up. `owners` are parameters by which parts get whose they are."""
        super().__init__(kind, subclasses_of(base), group=f"fleet_sim.swarm.{kind}", built_in=lambda: built_in)
        self.base: Any = base
        self.owners = owners

    def type_of(self, name: object) -> type[Part]:
        """Return the class called `name`; a class is returned as it is.

        Raises UnknownNameError with the closest name, and InvalidValueError for a path that cannot be imported.
        """
        if isinstance(name, type):
            return name
        if not isinstance(name, str):
            raise InvalidValueError(f"{self.noun}: type must be a name or a dotted path, got {name!r}")
        try:
            return self.find(name)
        except UnknownNameError as error:
            raise UnknownNameError(f"{error}{advice_on(self.noun, name)}") from error

    def split(self, spec: object) -> tuple[type[Part], dict[str, Any]]:
        # A class or a name says all by itself; a mapping may add parameters.
        """Return (class, parameters) of `spec`: a name, a class, or a mapping with a `type` and parameters.

        Raises UnknownNameError and InvalidValueError.
        """
        params: dict[str, Any] = {}
        name = spec
        if not isinstance(spec, (str, type)):
            if not isinstance(spec, Mapping):
                raise InvalidValueError(
                    f"{self.noun}: must be a name or a mapping with a type and its parameters, got {spec!r}"
                )
            params = dict(spec)
            if "type" not in params:
                raise InvalidValueError(f"{self.noun}: `type` is missing; known are {', '.join(sorted(self.all()))}")
            name = params.pop("type")
        cls = self.type_of(name)
        if not issubclass(cls, self.base):
            raise InvalidValueError(
                f"{_what(self.noun, spec, cls)}: expected a class derived from {self.base.__name__}"
            )
        return cls, _by_names(cls, params)

    def check(self, spec: object, given: int = 0) -> type[Part]:
        """Return the class of the part that `spec` describes, with the names of its parameters checked; makes nothing.

        The constructor gets `given` arguments besides. Raises UnknownNameError and InvalidValueError.
        """
        if isinstance(spec, self.base):
            return type(spec)
        # Advice first: "unknown parameter" alone would not help who comes with a file of RobotSwarmSimulator.
        cls, params = self.split(spec)
        refuse_keys(params, parameters_of(cls))
        check_arguments(self._signature(cls, given), params, _what(self.noun, spec, cls))
        return cls

    def make(self, spec: object, *given: Any, owner: object = None) -> Part:
        """Return the part that `spec` describes: `cls(*given, **parameters)`; a part is returned as it is.

        A constructor that takes one of `owners` by name gets `owner`. Raises UnknownNameError and InvalidValueError for
        a name, a parameter or a value that is not allowed.
        """
        if isinstance(spec, self.base):
            part: Part = spec
            return part
        cls = self.check(spec, len(given))
        _, params = self.split(spec)
        try:
            return cls(*given, **self._owned(cls, owner), **params)
        except ConfigError as error:
            # Its own path is that within the part; the kind and the name of the part come before it.
            raise ConfigError(f"{_what(self.noun, spec, cls)}: {error}") from error
        except FleetSimError:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidValueError(f"{_what(self.noun, spec, cls)}: {error}") from error

    def _owned(self, cls: type[Part], owner: object) -> dict[str, object]:
        """Return `owner` by the names that the constructor of `cls` has for it: what it needs, or the first one."""
        known = parameters_of(cls)
        names = [name for name in self.owners if name in known]
        needed = [name for name in names if known[name].default is inspect.Parameter.empty]
        if names and issubclass(cls, Component) and cls.works_on_arrays():
            if needed:
                # Refused when it is made, not when the second agent reads what was meant for the first.
                raise InvalidValueError(
                    f"{cls.__name__}: one object serves a group of agents, so it cannot need `{needed[0]}`; leave the"
                    f" parameter out, or write {cls.per_agent}(self, agent) in place of {cls.on_arrays}(self, group)"
                )
            return {}
        return {} if owner is None else dict.fromkeys(needed or names[:1], owner)

    def _signature(self, cls: type[Part], given: int) -> Callable[..., Any]:
        """Return a function that takes what a configuration gives to the constructor of `cls`, after `given` others."""

        def constructor() -> None:
            """Stand for the constructor."""

        # The parameters that the caller fills by position, such as the world, cannot be given by name as well.
        parameters = [known for known in list(parameters_of(cls).values())[given:] if known.name not in self.owners]
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        constructor.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return constructor


def _by_names(cls: type[Any], params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters by the names that the constructor has for them, where the settings of `cls` have others too."""
    if not issubclass(cls, Configured):
        return params
    names = {alias: name for name, field in fields_of(cls).items() for alias in field.rules.aliases}
    found: dict[str, Any] = {}
    for key, value in params.items():
        name = names.get(key, key)
        if name in found:
            raise InvalidValueError(f"{cls.__name__}: {key!r} is given twice, also by another name; keep one of them")
        found[name] = value
    return found


def _what(noun: str, spec: object, cls: type[Any]) -> str:
    return f"{noun} {spec['type'] if isinstance(spec, Mapping) else cls.__name__}"


def built_in_names(
    namespace: Mapping[str, object], base: type[Any], *, suffix: str = "", short: Mapping[type[Any], str] | None = None
) -> dict[str, type[Any]]:
    """Return the subclasses of `base` in a module, or that a package imported from its own modules, by two names each.

    These are the class's own, and that in lower case with underscores and without `suffix`, or what `short` says:
    BinaryFOVSensor is "binary_fov". A private class, and one whose name is the suffix, is a base class and no part.
    """
    found: dict[str, type[Any]] = {}
    for name, value in namespace.items():
        # By module: what was imported for other purposes is no part of its own.
        own = isinstance(value, type) and f"{value.__module__}.".startswith(f"{namespace['__name__']}.")
        if isinstance(value, type) and own and issubclass(value, base) and name != suffix and name[0] != "_":
            words = _WORD_STARTS.sub("_", name.removesuffix(suffix)).lower()
            found |= {name: value, (short or {}).get(value, words): value}
    return found


_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def parameters_of(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return what the constructor of `cls` takes by name; what it passes on as ** counts as its base's."""
    found: dict[str, inspect.Parameter] = {}
    found_any = False
    for ancestor in cls.__mro__:
        if "__init__" not in vars(ancestor) or ancestor is object:
            continue
        own = list(inspect.signature(vars(ancestor)["__init__"]).parameters.values())[1:]
        for parameter in own:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                # What a base class needs, the constructor above it may well give by itself.
                needed = not found_any or parameter.default is not parameter.empty
                found.setdefault(parameter.name, parameter if needed else parameter.replace(default=None))
        found_any = True
        # Without ** nothing is passed on: parameters of base classes beyond this one cannot be given.
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
            break
    return found


# SensorView: the sensor of a whole group as one of its agents sees it.


SensorT = TypeVar("SensorT", bound=Component)


class SensorView(Generic[SensorT]):
    """A sensor of a whole group as one agent sees it: `current_state` is its own reading, all else is the sensor's.

    Nothing can be assigned: it would act on every agent of the group. Raises InvalidValueError.
    """

    sensor: SensorT
    agent: Any
    _index: int

    def __init__(self, sensor: SensorT, agent: Any, index: int) -> None:
        # Past __setattr__, which refuses all assignments.
        vars(self).update(sensor=sensor, agent=agent, _index=index)

    def __setattr__(self, name: str, value: object) -> None:
        # Silently setting it for all agents, or for none, would both be wrong.
        kind = type(self.sensor).__name__
        raise InvalidValueError(
            f"{kind}.{name}: this sensor serves all agents of a group; give the agent one of its own,"
            f" agent.sensors[{self._index}] = {kind}(...), or set `agent.sensors[{self._index}].sensor.{name}` for all"
        )

    @property
    def current_state(self) -> Any:
        """The last reading of this agent."""
        group = self.agent.group
        return group.readings[self._index][group.number_of(self.agent.row)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sensor, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> SensorView[SensorT]:
        # Who copies an agent wants its sensor, not one of another group.
        return self
