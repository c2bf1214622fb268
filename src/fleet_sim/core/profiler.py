"""What the last step cost, under the documented keys, in milliseconds."""

from __future__ import annotations

from collections import deque
from typing import Any

from fleet_sim.core.pipeline import Pipeline

# Documented key -> the systems it is the sum of.
GROUPS: dict[str, tuple[str, ...]] = {
    "agent_update": ("actions", "controllers", "motion", "entity_callbacks", "attachments"),
    "callbacks": ("callbacks",),
    "events_pre_step": ("pre_step",),
    "events_post_step": ("post_step",),
    "events_collision": ("collision_events",),
    "monitor_update": ("monitor",),
}


class Profiler:
    """Reads the pipeline's times; keeps users' own entries and a short history of totals."""

    def __init__(self, pipeline: Pipeline, history: int = 1000) -> None:
        self._pipeline = pipeline
        self._own: dict[str, float] = {}
        self.collision_breakdown: dict[str, float] = {}
        self.totals: deque[float] = deque(maxlen=history)
        """Milliseconds of the latest steps."""

    def record(self, name: str, value_ms: float) -> None:
        """Add an entry of the user's own to the profile of the current step."""
        self._own[name] = float(value_ms)

    def end_step(self) -> None:
        """Note the step just ended."""
        self.totals.append(1000.0 * self._pipeline.total)

    def stats(self) -> dict[str, Any]:
        """Return the last step's profile: documented keys, `systems` by name, `collision_breakdown`, own entries.

        `agent_update <= phase1_update <= total` always holds. All in milliseconds.
        """
        times = self._pipeline.times
        stats: dict[str, Any] = {phase.value: 1000.0 * t for phase, t in self._pipeline.phase_times.items()}
        for key, systems in GROUPS.items():
            stats[key] = 1000.0 * sum(times.get(name, 0.0) for name in systems)
        stats["total"] = 1000.0 * self._pipeline.total
        stats["systems"] = {name: 1000.0 * seconds for name, seconds in times.items()}
        stats["collision_breakdown"] = dict(self.collision_breakdown)
        stats.update(self._own)
        return stats

    def summary(self) -> str:
        """Return the last step's total and its costliest systems in one line."""
        costly = sorted(self._pipeline.times.items(), key=lambda item: -item[1])[:5]
        shares = ", ".join(f"{name} {1000.0 * seconds:.3f}" for name, seconds in costly)
        return f"{1000.0 * self._pipeline.total:.3f} ms ({shares})"
