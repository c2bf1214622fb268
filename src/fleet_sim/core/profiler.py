"""Times of the last step in milliseconds, under the documented keys."""

from __future__ import annotations

from collections import deque
from typing import Any

from fleet_sim.arrays import as_float
from fleet_sim.core.pipeline import Phase, Pipeline
from fleet_sim.errors import InvalidValueError

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
        """Add a user's entry to the profile; it is kept until the next step begins.

        Raises InvalidValueError for a name that the profile uses itself.
        """
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
