"""Parts of a world by name, and how a part is made from a mapping with a `type`.

A `type` is a short name, a dotted path ("package.module:Class" or "package.module.Class"), or an entry point of the
group "fleet_sim.swarm.<kind>" of an installed distribution. The other keys are keyword arguments of its constructor.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fleet_sim.entities.arguments import check_arguments
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.registry import Registry, subclasses_of
from fleet_sim.settings.fields import fields_of
from fleet_sim.swarm.advice import advice_on, refuse_keys
from fleet_sim.swarm.component import Component
from fleet_sim.swarm.parameters import Configured

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
    namespace: Mapping[str, object], *, suffix: str = "", short: Mapping[type[Any], str] | None = None
) -> dict[str, type[Any]]:
    """Return the classes that a package imported from its own modules, each by two names, for its `BUILT_IN`.

    These are the class's own, and that in lower case with underscores and without `suffix`, or what `short` says:
    BinaryFOVSensor is "binary_fov". A class whose name is the suffix is a base class and no part.
    """
    found: dict[str, type[Any]] = {}
    for name, value in namespace.items():
        # By module: what the package imported for other purposes is no part of its own.
        own = isinstance(value, type) and value.__module__.startswith(f"{namespace['__name__']}.")
        if isinstance(value, type) and own and name != suffix:
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
