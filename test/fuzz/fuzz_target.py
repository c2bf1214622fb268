"""Target: something that reads bytes from outside, and what it may do with them; `outcome_of` feeds it one input."""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from fleet_sim.base.errors import FleetSimError

Mutate = Callable[[bytes, Random], bytes]

ROOT = Path(__file__).parents[2]
_OURS = re.compile(r"/src/(fleet_sim|pocket_ros)/|^<string>$")


@dataclass(frozen=True)
class Target:
    """What is fed. `feed` reads one input and raises one of `allowed`, or nothing, whatever the input is."""

    feed: Callable[[bytes], object]
    seeds: Sequence[bytes]
    """Valid inputs, small ones, that mutants are made of."""
    words: Sequence[bytes] = ()
    """What a mutant may have inserted: the names of the format."""
    allowed: tuple[type[Exception], ...] = (FleetSimError,)
    mutate: Mutate | None = None
    """A mutator that knows the format."""
    mutate_share: float = 0.5
    """Which part of the mutants `mutate` makes; the others are of bytes."""
    seconds: float = 5.0
    """Of processor time in which an input is read."""
    memory: int = 1 << 30
    """What reading may take beyond what the process has before, in bytes."""
    operations: Callable[[], int] | None = None
    """Counts what was done so far, where an input is a sequence of operations."""


@dataclass(frozen=True)
class Outcome:
    """What came of one input: where it was refused, or the fault. Inputs of one outcome are alike."""

    where: str = "accepted"
    fault: str = ""
    """The traceback of what must not be raised; "" where all is well."""


class TookTooLongError(BaseException):
    """The time for one input is over. No Exception, so that nothing takes it for a fault of the input."""


class Watch:
    """Raises TookTooLongError in the main thread when an input takes more than `seconds` of processor time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self._ring)
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        raise TookTooLongError(f"it took longer than {self._seconds:g} s")


def outcome_of(target: Target, data: bytes, watch: Watch) -> Outcome:
    """Feed `data` to `target`; whatever happens is returned."""
    try:
        with watch:
            answer = target.feed(data)
    except target.allowed as error:
        return Outcome(f"{type(error).__name__} {place_of(error)}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = "".join(traceback.format_exception(error, limit=-12))
        return Outcome(f"{type(error).__name__} {place_of(error)} {_core_of(error)}", text[-4000:])
    return Outcome() if answer is None else Outcome(f"accepted: {answer}")


def _core_of(error: BaseException) -> str:
    """Return what our own comparisons say, without the values."""
    return re.sub(r"/\S+|[\d.]+|'[^']*'", "", str(error))[:100] if isinstance(error, AssertionError) else ""


def place_of(error: BaseException) -> str:
    """Return the lines of our code where `error` came from, the innermost three; of other code if there are none."""
    ours, last, step = [], "", error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        last = f"{Path(code.co_filename).name}:{step.tb_lineno}"
        if _OURS.search(code.co_filename):
            ours.append(last)
        step = step.tb_next
    return " < ".join(reversed(ours[-3:])) or last
