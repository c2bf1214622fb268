"""One registry class for all kinds of named things: sensors, actions, motion laws, controllers, swarm parts.

A new kind needs one line:

    ACTIONS = Registry("action", subclasses_of(Action), group="fleet_sim.action")

A name comes from one of three places: it is built in, users `register` it, or an installed distribution declares it as
an entry point of the group. For names from the user's files, `find` also accepts dotted paths. A path that was looked
up once is a name from then on, also for messages: what the user's own scenario names, a client may ask for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, unknown_name
from fleet_sim.base.limits import check_import

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


Thing = TypeVar("Thing")
Base = TypeVar("Base")
Decorated = TypeVar("Decorated")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit(Generic[Thing]):
    """What a registry accepts: its description in errors, and the test."""

    expected: str
    accepts: Callable[[object], bool]


# Both take a `Callable` and not a `type`: mypy does not accept abstract classes and protocols as `type[Base]`.
def subclasses_of(base: Callable[..., Base]) -> Fit[type[Base]]:
    """Accept classes that derive from `base`."""
    cls = _as_class(base)
    return Fit(f"a class derived from {cls.__name__}", lambda thing: isinstance(thing, type) and issubclass(thing, cls))


def instances_of(base: Callable[..., Base], expected: str = "") -> Fit[Base]:
    """Accept instances of `base`; classes are rejected, even if `base` is a protocol that their attributes satisfy."""
    cls = _as_class(base)
    return Fit(
        expected or f"an object of {cls.__name__}", lambda thing: isinstance(thing, cls) and not isinstance(thing, type)
    )


class Registry(Generic[Thing]):
    """Things by name.

    `noun` names the kind in errors. `fit` defines what is accepted, and with it the type of the things. `group` is the
    entry-point group for other distributions. `built_in` holds our own things by name, or is a function that returns
    them: it is called at the first look-up, so its imports are delayed until then. `check(name, thing)` may raise
    InvalidValueError for conditions that a type cannot express.

    Built-in and registered names take precedence over entry points, which are read once, when a name is not among the
    former or when all names are listed. Threads may look up and register concurrently: each entry is made in one atomic
    operation, and no lock is held while a module is imported.
    """

    def __init__(
        self,
        noun: str,
        fit: Fit[Thing],
        *,
        group: str = "",
        built_in: Mapping[str, Thing] | Callable[[], Mapping[str, Thing]] | None = None,
        check: Callable[[str, Thing], None] | None = None,
    ) -> None:
        self.noun = noun
        self.group = group
        self._fit, self._check, self._built_in = fit, check, built_in
        self._things: dict[str, Thing] = {}
        self._by_path: dict[str, Thing] = {}
        self._points: dict[str, list[EntryPoint]] | None = None

    @overload
    def register(self, name: str) -> Callable[[Decorated], Decorated]: ...

    @overload
    def register(self, name: str, thing: Thing) -> Thing: ...

    def register(self, name: str, thing: Any = None) -> Any:
        """Register `thing` as `name` and return it; without `thing`, return a decorator that does so.

        Raises DuplicateNameError for a name that is taken, InvalidValueError for a thing that is not accepted.
        """
        if thing is None:
            return lambda decorated: self.register(name, decorated)
        if not (isinstance(name, str) and name):
            raise InvalidValueError(f"{self.noun}: the name must be a text that is not empty, got {name!r}")
        taken = DuplicateNameError(f"the {self.noun} {name!r} exists already; choose another name")
        own = self._own()
        if name in own:
            raise taken
        self._require_fit(name, thing)
        # setdefault is atomic: if two threads register the same name at once, one of them gets the error.
        if own.setdefault(name, thing) is not thing:
            raise taken
        return thing

    def unregister(self, name: str) -> None:
        """Remove `name`; raises UnknownNameError. An entry point of that name is loaded again at its next use."""
        if self._own().pop(name, None) is None:
            raise unknown_name(self.noun, name, self._own())

    def get(self, name: str) -> Thing:
        """Return the thing called `name`, loading its entry point at the first use.

        Raises UnknownNameError with the closest name, and InvalidValueError for an entry point that cannot be used.
        """
        own = self._own()
        if name in own:
            return own[name]
        points = self._entry_points().get(name)
        if points is None:
            raise unknown_name(self.noun, name, self.names())
        thing = self._loaded(name, points)
        # The plug-in may have registered itself during its import; then the registered thing is used.
        return own.setdefault(name, thing)

    __getitem__ = get

    def find(self, name: str) -> Thing:
        """Return the thing called `name`, or at the dotted path `name`; raises as `get` and `at` do.

        Looking up a path imports its module: use it for names from the user's files and code, not from messages.
        """
        if name not in self and (":" in name or "." in name):
            return self.at(name)
        return self.get(name)

    def make(self, name: str, settings: Mapping[str, Any]) -> Any:
        """Return what the thing called `name`, or at the dotted path `name`, makes of `settings` as keywords.

        Raises as `find` does, InvalidValueError for keywords that it does not take, and what the thing itself raises.
        """
        maker: Any = self.find(name)
        try:
            return maker(**settings)
        except TypeError as error:
            raise InvalidValueError(f"{self.noun} {name!r} cannot be made with {dict(settings)}: {error}") from error

    def at(self, path: str) -> Thing:
        """Return the thing at a dotted path, "package.module:Name" or "package.module.Name".

        Raises InvalidValueError for a path that cannot be imported, for a thing that is not accepted, and for a path
        that comes from another process, unless it was looked up here before.
        """
        known = self._by_path.get(path)
        if known is not None:
            return known
        check_import(path, self.noun)
        module, _, name = path.rpartition(":" if ":" in path else ".")
        try:
            thing = getattr(import_module(module), name)
        except (Exception, SystemExit) as error:  # whatever a module raises, or does, while it is imported
            reason = error or type(error).__name__
            # Where the module was found and fails by itself, the folder is not what is wrong.
            not_found = module[:1] in ("", ".") or isinstance(error, (ImportError, AttributeError))
            hint = "; write package.module:Name, and check that the folder of the package is the current one, or"
            hint += " on Python's path"
            raise InvalidValueError(f"{self.noun}: {path!r} cannot be imported ({reason}){hint * not_found}") from error
        return self._by_path.setdefault(path, self._require_fit(path, thing))

    def known(self) -> dict[str, Thing]:
        """Return what is `registered()` and what was looked up by dotted path, by name or path."""
        return {**self._own(), **self._by_path}

    def names(self) -> list[str]:
        """Return all names, including entry points, in alphabetical order; loads no entry points."""
        return sorted({*self._own(), *self._entry_points()})

    def registered(self) -> dict[str, Thing]:
        """Return things by name in order of registration, built-in ones first; does not read entry points."""
        return dict(self._own())

    def all(self) -> dict[str, Thing]:
        """Return everything by name, in alphabetical order. Entry points are loaded; a broken one is logged and left
        out, so that it does not hide the others."""
        found = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except InvalidValueError as error:
                logger.warning("%s", error)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._own() or name in self._entry_points()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __repr__(self) -> str:
        return f"<Registry of {self.noun}: {', '.join(self._things) or 'nothing yet'}>"

    def _own(self) -> dict[str, Thing]:
        """Return built-in and registered things; the first call adds the built-in ones."""
        built_in = self._built_in
        if built_in is not None:
            for name, thing in (built_in() if callable(built_in) else built_in).items():
                self._things.setdefault(name, thing)
            self._built_in = None
        return self._things

    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        """Return the group's entry points by name; a list has several if more than one distribution declares a name."""
        if self._points is None:
            found: dict[str, list[EntryPoint]] = {}
            if self.group:
                # Imported here because it takes 50 ms, and most names are our own.
                from importlib.metadata import entry_points

                for point in entry_points(group=self.group):
                    found.setdefault(point.name, []).append(point)
            self._points = found
        return self._points

    def _loaded(self, name: str, points: list[EntryPoint]) -> Thing:
        """Return what an entry point declares; raises InvalidValueError that names its package."""
        if len(points) > 1:
            owners = " and ".join(sorted(_owner(point) for point in points))
            raise InvalidValueError(f"the {self.noun} {name!r} is declared by {owners}; uninstall one of them")
        (point,) = points
        try:
            thing = point.load()
        except Exception as error:  # whatever another package raises while it is imported
            raise InvalidValueError(
                f"the {self.noun} {name!r} of the package {_owner(point)} cannot be loaded from {point.value!r}"
                f" ({type(error).__name__}: {error}); repair or uninstall that package"
            ) from error
        try:
            return self._require_fit(name, thing)
        except InvalidValueError as error:
            raise InvalidValueError(f"{error} (from the package {_owner(point)})") from error

    def _require_fit(self, name: str, thing: Any) -> Thing:
        if not self._fit.accepts(thing):
            raise InvalidValueError(f"{self.noun} {name!r}: expected {self._fit.expected}, got {thing!r}")
        if self._check is not None:
            self._check(name, thing)
        fitting: Thing = thing
        return fitting


def _as_class(base: Any) -> type[Any]:
    if not isinstance(base, type):
        raise InvalidValueError(f"expected a class to derive from, got {base!r}")
    return base


def _owner(point: EntryPoint) -> str:
    """Return the name and version of the distribution that declares `point`."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else repr(point.value)


# Classes whose objects may stand in a state file: those that say so, and no other.


Class = TypeVar("Class", bound=type)

SAVED: Registry[type[Any]] = Registry("saved class", subclasses_of(object))
"""The classes by name. A file holds names; what is read from it makes objects of these classes and runs none of their
code, so a class belongs here only if its attributes are all there is to it."""


def saved(cls: Class) -> Class:
    """Let objects of `cls` be written into state files, with all their attributes; a decorator.

    It must be found at the top of a module, so that another process finds it too. Raises InvalidValueError, and
    DuplicateNameError where another class has its name.
    """
    if "<locals>" in cls.__qualname__:
        raise InvalidValueError(
            f"saved: {cls.__qualname__} is made within a function; move it to the top of its module"
        )
    SAVED.register(cls.__name__, cls)
    _NAMES[cls] = cls.__name__
    return cls


def saved_name(cls: type[Any]) -> str | None:
    """Return the name of `cls` in state files; None where it has none."""
    return _NAMES.get(cls)


_NAMES: dict[type[Any], str] = {}
