"""The step: an ordered list of systems, each in a phase; times are measured here."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any, TypeAlias

from fleet_sim.base.arrays import as_float
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StateError, named, unknown_name
from fleet_sim.world.world import World


class Phase(Enum):
    """The phases of a step, in order; values are the keys of their times in the profile."""

    UPDATE = "phase1_update"
    FLUSH = "phase2_pose_flush"
    PHYSICS = "step_simulation"
    BOUNDS = "phase3_aabb_grid_flush"
    COLLIDE = "collision_check"
    OBSERVE = "observe"


@dataclass(frozen=True)
class System:
    """One part of the step: `run(dt)` is called once per step, in its phase.

    `wanted` is asked when its turn comes: where it returns something false, the system has nothing to do and is passed
    over. In a small world, calling and timing such systems would be a third of a step.

    `span` returns for how many ticks it need not look, if nothing else does; without it a system that is wanted looks
    at each. In a step of several ticks `each` is called at the end of each tick, and where it returns something true,
    the step ends with that tick; `run` is not called then, but in the phase UPDATE, with which steps begin.
    """

    name: str
    phase: Phase
    run: Callable[[float], object]
    wanted: Callable[[], object] | None = None
    span: Callable[[], int] | None = None
    each: Callable[[float], object] | None = None


ANY = 1 << 30
"""The span in ticks of what looks at the end of a step, however long that is."""


def any_span() -> int:
    """Return the span of a system that only looks at how things are."""
    return ANY


def each_step(function: Callable[..., object], *args: object) -> Callable[[float], object]:
    """Return a `run` for a System that calls `function(*args)`, without the time step."""
    run = _each_step(function, *args)
    # Whose code it is, for those who ask.
    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run


def _each_step(function: Callable[..., object], *args: object) -> Callable[[float], object]:
    if len(args) == 1:
        # The most common case by far, and unpacking a tuple takes half of such a call.
        (only,) = args
        return lambda dt: function(only)
    return (lambda dt: function(*args)) if args else (lambda dt: function())


_Turn: TypeAlias = tuple[Callable[[], object] | None, tuple[int, Callable[[float], object], Phase]]


SLOW_STEP = 1.0
"""Seconds of wall time from which on a step is noted as slow."""


class Pipeline:
    """Runs the systems phase by phase, in the order they were added within a phase."""

    def __init__(self, world: World) -> None:
        self._turn: tuple[int, Callable[[float], object], Phase] | None = None
        self.slow_steps: Counter[str] = Counter()
        """Steps that took longer than `SLOW_STEP`, by the system that took most of them."""
        self.longest_step = 0.0
        """The longest of these, in s."""
        self.total = 0.0
        """Seconds that the last step took."""
        self.ticks = 1
        """Ticks of the step under way, or of the last one."""
        self._begin = 0.0
        self._world = world
        self._systems: tuple[System, ...] = ()
        self._each: tuple[Callable[[float], object], ...] = ()
        self._order: tuple[_Turn, ...] = ()
        self._longer: tuple[_Turn, ...] = ()
        """Those of them that run in steps of several ticks."""
        self._timed: tuple[System, ...] = ()
        """The systems of the last step."""
        self._ends: list[float] = []
        """When each of them had run, 0 for one that was passed over."""

    @property
    def systems(self) -> tuple[System, ...]:
        """The systems in the order they run."""
        return self._systems

    @property
    def phase(self) -> Phase | None:
        """The phase that is being run, None outside a step."""
        turn = self._turn
        return None if turn is None else turn[2]

    @property
    def running(self) -> tuple[System, float] | None:
        """The system that runs, and the seconds that its step has taken so far; for other threads."""
        turn, systems, begin = self._turn, self._timed, self._begin
        # Read by another thread, in between of what the step writes.
        return None if turn is None or turn[0] >= len(systems) else (systems[turn[0]], perf_counter() - begin)

    @property
    def times(self) -> dict[str, float]:
        """The seconds each system took in the last step, by name; 0 where it was passed over."""
        known = {system.name: taken for system, taken in self._taken()}
        return {system.name: known.get(system.name, 0.0) for system in self._systems}

    @property
    def phase_times(self) -> dict[str, float]:
        """The seconds of each phase in the last step, by its value."""
        times = dict.fromkeys((phase.value for phase in Phase), 0.0)
        for system, taken in self._taken():
            times[system.phase.value] += taken
        return times

    def _taken(self) -> Iterator[tuple[System, float]]:
        """Yield the systems of the last step that ran, and what each took."""
        # Found out when asked for: a step of a small world would spend a tenth of its time on it.
        before = self._begin
        for system, end in zip(self._timed, self._ends, strict=True):
            if end:
                # One reading ends a system and starts the next, so that the times add up to those of the phases.
                yield system, end - before
                before = end

    def add(self, system: System, *, before: str | None = None, after: str | None = None) -> None:
        """Add `system` at the end of its phase, or directly before or after the named system.

        Raises DuplicateNameError, UnknownNameError for `before` and `after`, and StateError for one of another phase.
        """
        names = [known.name for known in self._systems]
        if system.name in names:
            raise DuplicateNameError(f"a system named {system.name!r} is already in the pipeline")
        neighbour = before or after
        if neighbour is not None:
            if neighbour not in names:
                raise unknown_name("system", neighbour, names)
            index = names.index(neighbour)
            if self._systems[index].phase is not system.phase:
                raise StateError(f"system {neighbour!r} runs in another phase than {system.name!r}")
            index += neighbour != before
        else:
            order = list(Phase)
            position = order.index(system.phase)
            index = sum(order.index(known.phase) <= position for known in self._systems)
        self._change([*self._systems[:index], system, *self._systems[index:]])

    def remove(self, name: str) -> None:
        """Remove the system called `name`; raises UnknownNameError."""
        gone = named("system", name, self._systems)
        self._change([system for system in self._systems if system is not gone])

    def _change(self, systems: Sequence[System]) -> None:
        self._systems = tuple(systems)
        # Built when systems change: a step under way keeps its own tuple.
        self._order = tuple((known.wanted, (turn, known.run, known.phase)) for turn, known in enumerate(systems))
        self._longer = tuple(
            turn
            for turn, known in zip(self._order, systems, strict=True)
            if known.each is None or known.phase is Phase.UPDATE
        )
        self._each = tuple(known.each for known in systems if known.each is not None)

    def ticks_at_once(self, most: int) -> int:
        """Return how many ticks the next step may take, at most `most`: until a system has to look in between."""
        least = ANY
        for system in self._systems:
            if system.wanted is None or system.wanted():
                least = 1 if system.span is None else min(least, system.span())
                if least == 1:
                    break
        # Where nothing makes ticks of its own time would only jump, and nobody could stop it.
        return 1 if least == ANY else min(least, most)

    def step(self, dt: float, ticks: int = 1) -> None:
        """Run every system once and count the ticks; raises StateError from inside a step.

        In a step of several `ticks` the system that moves things makes them one by one, each of `dt` s, and counts them
        as it goes, or ends earlier; all others look before or after.

        Systems added or removed meanwhile take effect in the next step. An exception from a system ends the step, which
        still counts as a tick: the simulation can be stepped again.
        """
        world = self._world
        if world.in_step:
            raise StateError("step_once() was called from inside a step; let the running step end first")
        order, read_clock = self._order if ticks == 1 else self._longer, perf_counter
        self._timed, self.ticks = self._systems, ticks
        ends = self._ends = [0.0] * len(self._systems)
        begin = self._begin = read_clock()
        try:
            # Not before `try`: Ctrl-C in between would leave a world that can never be closed.
            world.in_step = True
            for wanted, turn in order:
                if wanted is None or wanted():
                    self._turn = place, run, _ = turn
                    run(dt)
                    ends[place] = read_clock()
        finally:
            self._turn = None
            world.in_step = False
            world.end_step()
            world.clock.tick += 1
            self.total = total = read_clock() - begin
            if total > SLOW_STEP:
                self._note_slow()

    @property
    def acts_in_ticks(self) -> bool:
        """Whether a system acts at the end of each tick of a step of several."""
        return bool(self._each)

    def end_tick(self, dt: float) -> bool:
        """Let systems act at the end of a tick of a step of several; return whether the step ends with it."""
        ends = False
        for each in self._each:
            ends = bool(each(dt)) or ends
        return ends

    def _note_slow(self) -> None:
        times = self.times
        self.slow_steps[max(times, key=times.__getitem__)] += 1
        self.longest_step = max(self.longest_step, self.total)


# Times of the last step in milliseconds, under the documented keys.


# Documented key -> the systems whose times it adds up.
GROUPS: dict[str, tuple[str, ...]] = {
    "agent_update": ("pre_update", "actions", "controllers", "motion", "entity_callbacks", "attachments"),
    "callbacks": ("callbacks",),
    "events_pre_step": ("pre_step",),
    "events_post_step": ("post_step",),
    "events_collision": ("collision_events",),
    "monitor_update": ("monitor",),
}

_OWN_KEYS = {*(phase.value for phase in Phase), *GROUPS, "total", "systems", "collision_breakdown"}


class Profiler:
    """Reads the pipeline's times; keeps entries of users and a short history of totals."""

    def __init__(self, pipeline: Pipeline, history: int = 1000) -> None:
        self._pipeline = pipeline
        self._own: dict[str, float] = {}
        self.collision_breakdown: dict[str, float] = {}
        self.totals: deque[float] = deque(maxlen=history)
        """Milliseconds of the latest steps."""

    def begin_step(self) -> None:
        """Delete the users' entries of the previous step."""
        self._own.clear()

    def record(self, name: str, value_ms: float) -> None:
        """Add an entry of your own to the profile."""
        if name in _OWN_KEYS:
            raise InvalidValueError(f"record_profiling: {name!r} is one of the profile's own keys; choose another name")
        self._own[name] = as_float(value_ms, f"{name} in ms")

    def end_step(self) -> None:
        """Record the step that just ended."""
        self.totals.append(1000.0 * self._pipeline.total)

    def stats(self) -> dict[str, Any]:
        """Return the last step's profile: documented keys, `systems` by name, `collision_breakdown`, own entries.

        `agent_update <= phase1_update <= total` always holds. All in milliseconds.
        """
        times = self._pipeline.times
        stats: dict[str, Any] = {key: 1000.0 * seconds for key, seconds in self._pipeline.phase_times.items()}
        for key, systems in GROUPS.items():
            stats[key] = 1000.0 * sum(times.get(name, 0.0) for name in systems)
        stats["total"] = 1000.0 * self._pipeline.total
        stats["systems"] = {name: 1000.0 * seconds for name, seconds in times.items()}
        stats["collision_breakdown"] = dict(self.collision_breakdown)
        stats.update(self._own)
        return stats

    def summary(self) -> str:
        """Return the last step's total and its slowest systems in one line."""
        costly = sorted(self._pipeline.times.items(), key=lambda item: -item[1])[:5]
        shares = ", ".join(f"{name} {1000.0 * seconds:.3f}" for name, seconds in costly)
        return f"{1000.0 * self._pipeline.total:.3f} ms ({shares})"
