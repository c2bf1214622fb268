"""All errors that fleet_sim raises, in one class hierarchy, and their common wording.

An error message says what was given, what is allowed and what to do. Outcomes of a run (a goal that cannot be
reached, a cancelled action) are data and never raised; these classes are for misuse and invalid input.
"""

from __future__ import annotations

import difflib
import mmap
import signal
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

LONGEST_SHOWN = 200
"""Characters of a given value in a message."""

MOST_COMPARED = 1000
"""Known names that a wrong one is compared with."""

LONGEST_MESSAGE = 4000
"""Characters of a message; of a longer one, which repeats what was given, the middle is left out."""


class FleetSimError(Exception):
    """Base of all errors raised by fleet_sim. Its text is bounded, whatever was given."""

    def __str__(self) -> str:
        return shortened(str(self.args[0]) if len(self.args) == 1 else Exception.__str__(self))


class ConfigError(FleetSimError, ValueError):
    """A configuration is invalid: an unknown key, a value out of range, an unreadable file.

    `message` describes the fault, `source` is the file (or "" for a mapping), `path` the dotted key path inside it.
    Its text is "source: path: message". `others` are further faults that the same reading found.
    """

    def __init__(self, message: str, *, source: str = "", path: str = "", others: Sequence[ConfigError] = ()) -> None:
        self.message = message
        self.source = source
        self.path = path
        self.others = others
        super().__init__(": ".join(part for part in (source, path, message) if part))

    @classmethod
    def of(cls, error: FleetSimError) -> ConfigError:
        """Return `error` itself if it is a ConfigError, else a ConfigError with its text and no place."""
        return error if isinstance(error, ConfigError) else cls(str(error))

    def within(self, key: str = "", *, source: str = "") -> ConfigError:
        """Return this error for an enclosing section: with its path below `key`, in the file `source`.

        If the error names another file, its path is a path in that file: both are kept together in the message.
        """
        if self.source and self.source != source:
            return ConfigError(str(self), source=source, path=key)
        # An index continues the key it belongs to: "robots" and "[2].name" are "robots[2].name".
        dot = "." if key and self.path and not self.path.startswith("[") else ""
        others = [other.within(key, source=source) for other in self.others]
        return ConfigError(self.message, source=source, path=f"{key}{dot}{self.path}", others=others)

    def all(self) -> list[ConfigError]:
        """Return this fault and the others."""
        return [self, *(fault for other in self.others for fault in other.all())]


@contextmanager
def located(key: str = "", *, source: str = "") -> Iterator[None]:
    """Raise what goes wrong inside as a ConfigError below `key` in the file `source`; see `ConfigError.within`."""
    try:
        yield
    except FleetSimError as error:
        raise ConfigError.of(error).within(key, source=source) from error


class InvalidValueError(FleetSimError, ValueError):
    """An argument has the wrong shape, range or content."""


class UnknownNameError(FleetSimError, KeyError):
    """A name or id is not known; the message lists the closest known ones."""


class DuplicateNameError(FleetSimError, ValueError):
    """A name that must be unique is already taken."""


class StaleHandleError(FleetSimError, ReferenceError):
    """A handle is used after its entity was removed."""


class MissingDependencyError(FleetSimError, ImportError):
    """An optional dependency is missing; the message names the extra that installs it."""


class StateError(FleetSimError, RuntimeError):
    """A call is not allowed in the current state (inside a step, while running, after closing)."""


class StateFileError(FleetSimError, ValueError):
    """A state cannot be written to a file, or this simulation cannot continue from a file; the message says why."""


class PlanError(FleetSimError, ValueError):
    """A planner found no plan, or an invalid one; the message names the robot, the step and the reason."""


def shortened(text: str) -> str:
    """Return a message of at most LONGEST_MESSAGE characters."""
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[: LONGEST_MESSAGE // 2]} ... {text[-LONGEST_MESSAGE // 4 :]}"


def brief(value: object) -> str:
    """Return `value` for a message, shortened: an answer must not be as long as what was sent."""
    try:
        text = repr(value)
    except (RecursionError, ValueError) as error:
        # Numbers of thousands of digits have no decimal text.
        return f"a value that cannot be shown ({error})"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def closest(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like `given`, None if none is like it."""
    if len(given) > LONGEST_SHOWN:
        # Nothing is like a long text, and finding that out would take long.
        return None
    names = sorted(known)
    # Those that begin alike are neighbours; to compare all names of a large fleet would take a second.
    at = bisect_left(names, given)
    near = names[max(0, at - MOST_COMPARED // 2) :][:MOST_COMPARED]
    close = difflib.get_close_matches(given, near, n=1, cutoff=0.65)
    return close[0] if close else None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" with the closest known name, else a list of known names, or "" if there are none."""
    names = sorted(str(name) for name in known)
    close = closest(given, names)
    return f" Did you mean {close!r}?" if close else known_names(names)


def known_names(known: Iterable[str]) -> str:
    """Return " Known: a, b." with the first of the names, or "" if there are none."""
    names = sorted(known)
    if not names:
        return ""
    # Names that begin with a digit are one of a numbered series; 000 to 999 would hide all that say something.
    names.sort(key=lambda name: name[:1].isdigit())
    shown = ", ".join(names[:12])
    return f" Known: {shown}, ..." if len(names) > 12 else f" Known: {shown}."


def unknown_name(kind: str, given: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for an unknown name `given` of a `kind` of thing."""
    return UnknownNameError(f"unknown {kind} {brief(given)}.{did_you_mean(str(given), known)}")


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str | None:
        """The name."""


AnyNamed = TypeVar("AnyNamed", bound=Named)


def named(kind: str, name: str, things: Iterable[AnyNamed]) -> AnyNamed:
    """Return the first of `things` called `name`; raises UnknownNameError with the closest name."""
    known = []
    for thing in things:
        if thing.name == name:
            return thing
        known.append(thing.name or "")
    raise unknown_name(kind, name, known)


# Memory: what imports nothing but this can ask before NumPy is loaded, which would end in a traceback.


def has_room(size: int) -> bool:
    """Return whether this process may ask for `size` bytes more, which `ulimit -v` may forbid."""
    try:
        # Asked for and given back; nothing of it is touched.
        mmap.mmap(-1, size).close()
    except OSError:
        return False
    return True


def end_silently_at_ctrl_c() -> Any:
    """Let Ctrl-C end the program without a traceback, as while modules are imported; return what it did before."""
    before = signal.getsignal(signal.SIGINT)
    # In the background of a shell it is ignored, and stays so.
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return before


def check_room(size: int, what: str) -> None:
    """Raise MemoryError where there are not the `size` bytes of memory that `what` needs."""
    if not has_room(size):
        raise MemoryError(f"{what} needs {size >> 20} MB, which is more than there is (see ulimit -v)")


def lack_of_memory(error: BaseException) -> str:
    """Return what to say where `error` is that a library or an object did not fit into memory, else ""."""
    text = str(error)
    # As the loader of the system says it, of a library.
    if isinstance(error, MemoryError) or "failed to map" in text or "annot allocate memory" in text:
        return f"not enough memory: {text or 'a request for more was refused'}"
    return ""


def end_for_memory(program: str, error: BaseException) -> int:
    """Print that `program` ends since something did not fit into memory, and return its exit code.

    Raises `error` where it is another.
    """
    if not (reason := lack_of_memory(error)):
        raise error
    print(f"{program}: error: {reason}", file=sys.stderr)
    return 1


def missing_extra(module: str, extra: str, purpose: str) -> MissingDependencyError:
    """Return the error for an optional module that is not installed."""
    return MissingDependencyError(
        f"{purpose} needs the Python module {module!r}, which is not installed. "
        f"Install it with: pip install 'fleet_sim[{extra}]'"
    )


@contextmanager
def of_extra(module: str, extra: str, purpose: str) -> Iterator[None]:
    """Raise MissingDependencyError where the module of an extra cannot be imported inside."""
    try:
        yield
    except ImportError as error:
        raise missing_extra(module, extra, purpose) from error
