"""The step: an ordered list of systems, each in a phase; times are measured here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import TypeAlias

from fleet_sim.core.world import World
from fleet_sim.errors import DuplicateNameError, StateError, named, unknown_name


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
    """

    name: str
    phase: Phase
    run: Callable[[float], object]
    wanted: Callable[[], object] | None = None


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


_Turn: TypeAlias = tuple[Callable[[float], object], Callable[[], object] | None, Phase, str, str]


class Pipeline:
    """Runs the systems phase by phase, in the order they were added within a phase.

    `phase` is the one being run, None outside a step. `times` holds the seconds each system took in the last step, by
    name (0 where it was passed over); `phase_times` the seconds of each phase, by its value.
    """

    def __init__(self, world: World) -> None:
        self.phase: Phase | None = None
        self._no_times: dict[str, float] = {}
        self._no_phase_times = dict.fromkeys((phase.value for phase in Phase), 0.0)
        self.times = self._no_times
        self.phase_times = self._no_phase_times
        self.total = 0.0
        self._world = world
        self._systems: list[System] = []
        self._order: tuple[_Turn, ...] = ()

    @property
    def systems(self) -> tuple[System, ...]:
        """The systems in the order they run."""
        return tuple(self._systems)

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
        self._systems.insert(index, system)
        self._changed()

    def remove(self, name: str) -> None:
        """Remove the system called `name`; raises UnknownNameError."""
        self._systems.remove(named("system", name, self._systems))
        self._changed()

    def _changed(self) -> None:
        self._no_times = {system.name: 0.0 for system in self._systems}
        self.times = {system.name: self.times.get(system.name, 0.0) for system in self._systems}
        # Built when systems change: a step under way keeps its own tuple and never looks up an enum's value.
        self._order = tuple(
            (known.run, known.wanted, known.phase, known.name, known.phase.value) for known in self._systems
        )

    def step(self, dt: float) -> None:
        """Run every system once and count the tick; raises StateError from inside a step.

        Systems added or removed meanwhile take effect in the next step. An exception from a system ends the step, which
        still counts as a tick: the simulation can be stepped again.
        """
        world = self._world
        if world.in_step:
            raise StateError("step_once() was called from inside a step; let the running step end first")
        world.in_step = True
        times, phase_times = self._no_times.copy(), self._no_phase_times.copy()
        self.times, self.phase_times = times, phase_times
        begin = now = perf_counter()
        try:
            for run, wanted, phase, name, key in self._order:
                if wanted is not None and not wanted():
                    continue
                self.phase = phase
                run(dt)
                # One reading ends a system and starts the next, so that the times add up to those of the phases.
                before, now = now, perf_counter()
                times[name] = taken = now - before
                phase_times[key] += taken
        finally:
            self.phase = None
            world.in_step = False
            world.end_step()
            world.clock.tick += 1
            self.total = perf_counter() - begin
