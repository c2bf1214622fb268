"""The system under test: a manager in this process, which can be killed between any two of its messages."""

from __future__ import annotations

import copy
import inspect
import signal
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import beside, is_file
from fleet_sim.base.registry import Registry, subclasses_of

Report = Callable[[str, str, str], object]
WAITS = 6.0
"""A call that waits may take so many times what one that computes may: other programs may have the processor."""


class ManagerHost(ABC):
    """Starts, watches, stops and restarts a manager, and hands over what comes for it."""

    def __init__(self) -> None:
        self.alive = False
        self.crash = ""
        """Why it ended by itself, with the trace; "" while it has not."""
        self._after: int | None = None

    @abstractmethod
    def start(self, now: float) -> None:
        """Start it, with what it has stored; what it raises is a crash. Raises ConfigError where there is none."""

    def kill(self, after: int) -> None:
        """Kill it at once, or when it has sent `after` more messages."""
        if after and self.alive:
            self._after = after
        else:
            self._die()

    @abstractmethod
    def call(self, name: str, *given: Any) -> bool:
        """Hand over an `order`, `cancel`, `on_message`, `on_connection` or `on_time`; return whether it took it."""

    @abstractmethod
    def pace(self, now: float) -> None:
        """Let it have its share of time."""

    @abstractmethod
    def close(self) -> None:
        """End it for good."""

    @abstractmethod
    def memory(self) -> float:
        """Return what it keeps, in MB."""

    @abstractmethod
    def _die(self) -> None:
        """End its life; `_after` counts for no other."""

    def _sent_its_last(self) -> bool:
        """Count a message that it has sent; return whether it is to be killed now."""
        if self._after is None:
            return False
        self._after -= 1
        return self._after <= 0


class Killed(BaseException):
    """Passes through a manager that is killed inside a call."""


class Hangs(BaseException):
    """Passes through a manager that does not return."""


def class_at(path: str, what: str, source: str = "", *, anew: bool = False) -> Any:
    """Return the class at package.module:Class or file.py:Class, files beside `source` first; raises ConfigError.

    If `anew`, its module is run again, and those of its package, or beside its file, so that their variables are as at
    first.
    """
    file, _, name = path.rpartition(":")
    _FIRST.update(() if _FIRST else sys.modules)
    if anew:
        _forget(file, Path(beside(source, file) if source else file).resolve().parent)
    if not file.endswith(".py"):
        try:
            return Registry[Any](what, subclasses_of(object)).at(path)
        except InvalidValueError as error:
            raise ConfigError(str(error), path=what, source=source) from error
    found = Path(beside(source, file)) if source else Path(file)
    if not is_file(found):
        raise ConfigError(f"there is no file {str(found)!r}", path=what, source=source)
    known = "fleet_sim_lab_" + "".join(char if char.isalnum() else "_" for char in str(found.resolve()))
    module = sys.modules.get(known)
    try:
        if module is None:
            spec = spec_from_file_location(known, found)
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[known] = module
            spec.loader.exec_module(module)
        return getattr(module, name)
    except (Exception, SystemExit) as error:  # whatever a user's file raises, or does, while it is imported
        sys.modules.pop(known, None)
        raise ConfigError(
            f"{path!r} cannot be imported: {error or type(error).__name__}", path=what, source=source
        ) from error


class InProcess(ManagerHost):
    """A manager that is an object: its class is made anew at each start, with what its `storage` had at the kill."""

    def __init__(
        self,
        make: Callable[..., Any],
        site: dict[str, Any],
        vehicles: list[dict[str, Any]],
        publish: Callable[[str, bytes | str, bool], bool],
        report: Report,
        call_within: float,
    ) -> None:
        super().__init__()
        self._call_within = call_within
        self._make, self._site, self._vehicles = make, site, vehicles
        self._publish, self._report = publish, report
        self._storage: dict[str, Any] = {}
        self._manager: Any = None
        self._life = 0

    def start(self, now: float) -> None:
        """Make the manager; what it raises is a crash."""
        self._life += 1
        life = self._life

        def publish(topic: str, payload: bytes | str, retain: bool = False) -> bool:
            return self._life == life and self._sends(topic, payload, retain)

        def report(order: str, status: str, reason: str = "") -> None:
            if self._life == life:
                self._report(order, status, reason)

        site, vehicles = copy.deepcopy((self._site, self._vehicles))
        self.alive = True
        self._try("the constructor", lambda: self._make(site, vehicles, publish, report, self._storage))

    def call(self, name: str, *given: Any) -> bool:
        """Call a method, if it is there; return whether it returned."""
        method = getattr(self._manager, name, None) if self.alive else None
        return method is not None and self._try(name, lambda: method(*given))

    def _try(self, name: str, act: Callable[[], Any]) -> bool:
        """Run code of the manager; return whether it ended, and keep what the constructor makes."""
        try:
            with _limited(self._call_within):
                made = act()
        except Killed:
            self._die()
            return False
        except Hangs:
            self.crash = f"{name} does not return"
            self._die()
            return False
        except Exception:  # a manager is code of others
            self._crashes()
            return False
        if self._manager is None:
            # What the constructor made.
            self._manager = made
        return True

    def pace(self, now: float) -> None:
        """It takes its time from the lab."""

    def close(self) -> None:
        """End it for good."""
        self._die()

    def memory(self) -> float:
        """Return the size of the objects that it refers to, in MB."""
        return 0.0 if self._manager is None else _size(self._manager) / 1e6

    def _sends(self, topic: str, payload: bytes | str, retain: bool) -> bool:
        taken = self._publish(topic, payload, retain)
        if self._sent_its_last():
            raise Killed
        return taken

    def _die(self) -> None:
        self.alive, self._manager, self._after = False, None, None
        self._life += 1
        # Nothing that the old one still refers to can change it.
        self._storage = copy.deepcopy(self._storage)

    def _crashes(self) -> None:
        self.crash = traceback.format_exc(limit=-4)
        self._die()


_FIRST: set[str] = set()
"""Modules that were there before the first class of others, which may be asked for before it is run."""


def _forget(file: str, folder: Path) -> None:
    """Let the modules of a manager be imported again: what their variables keep is gone with a process."""
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        if package == "fleet_sim":
            # Also where a manager lies in the folder of a checkout.
            continue
        if file.endswith(".py"):
            place = Path(getattr(module, "__file__", None) or "/")
            is_its = name not in _FIRST and place.is_relative_to(folder) and "site-packages" not in place.parts
        else:
            is_its = package == file.partition(".")[0] not in sys.stdlib_module_names
        if is_its:
            del sys.modules[name]


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise Hangs in what is inside after so much processor time, or WAITS as much time, where signals can do that."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise Hangs

    def hook(fault: Any) -> None:
        # Where it is raised in a callback of C it counts for nothing, and comes again.
        if not issubclass(fault.exc_type, Hangs):
            report(fault)

    report, sys.unraisablehook = sys.unraisablehook, hook
    before = signal.signal(signal.SIGVTALRM, stop), signal.signal(signal.SIGALRM, stop)
    # Again and again, as the manager may catch it.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds)
    signal.setitimer(signal.ITIMER_REAL, WAITS * seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGVTALRM, before[0])
        signal.signal(signal.SIGALRM, before[1])
        sys.unraisablehook = report


_PLAIN = (dict, list, tuple, set, frozenset)


def _size(thing: Any) -> int:
    """Return the bytes of an object and of all plain values below it."""
    total, waiting, seen = 0, [thing], set[int]()
    while waiting:
        item = waiting.pop()
        if id(item) in seen or inspect.ismodule(item) or inspect.isclass(item) or inspect.isroutine(item):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item, 0)
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, _PLAIN) or type(item).__name__ == "deque":
            waiting += list(item)
        elif hasattr(item, "__dict__"):
            waiting.append(vars(item))
    return total
