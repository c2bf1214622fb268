"""PyBullet as users see it, the window, and figures about the run."""

from __future__ import annotations

import resource
import sys
from typing import Any

from fleet_sim.facade.base import SimulationParts


class ViewFacade(SimulationParts):
    """PyBullet's view of the world; profiling and memory."""

    @property
    def client(self) -> int:
        """The PyBullet client id, for pybullet's own functions.

        Asking for it makes PyBullet keep up with every step from then on, since such calls cannot be seen coming.
        Prefer `sim.bullet`, which has every pybullet function and brings up to date only when one is called.
        """
        return self._mirror.hand_out()

    def setup_pybullet(self) -> int:
        """Connect to PyBullet now, opening the window in GUI mode; returns the client id."""
        self._client.connect()
        return self._mirror.hand_out() if self.params.gui else self._client.id

    def disable_rendering(self) -> None:
        """Stop drawing the window, for faster changes to the world."""
        self.bullet.set_rendering(False)

    def enable_rendering(self) -> None:
        """Draw the window again."""
        self.bullet.set_rendering(True)

    # ---- figures -----------------------------------------------------------------------------------------------------

    @property
    def last_profiling(self) -> dict[str, Any]:
        """The profile of the last step; see `get_profiling_stats`."""
        return self.get_profiling_stats()

    def get_profiling_stats(self) -> dict[str, Any]:
        """Return what the last step cost, in ms: documented keys, `systems`, `collision_breakdown`, own entries."""
        self.profiler.collision_breakdown = self.collisions.breakdown
        return self.profiler.stats()

    def record_profiling(self, name: str, value_ms: float) -> None:
        """Add an entry of one's own to the profile."""
        self.profiler.record(name, value_ms)

    def get_memory_usage(self) -> dict[str, float]:
        """Return the process's peak memory and the columns' size, in MB."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tables = {id(table): table for table in self.world.tables.values()}
        return {
            "peak_rss_mb": peak / (1024.0**2 if sys.platform == "darwin" else 1024.0),
            "columns_mb": sum(table.nbytes for table in tables.values()) / 1024.0**2,
        }
