"""Figures of a run: for users, twice per second of real time, and for programs, of the last step."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.profiler import Profiler
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.facade.control import RunControl
from fleet_sim.monitor import DataMonitor, MonitorFigures, MonitorOutput, RunMeter, window_hindrance

log = logging.getLogger(__name__)
# A separate logger: a setting enables these lines, independent of the level of other loggers.
profile_log = logging.getLogger("fleet_sim.profile")
profile_log.setLevel(logging.INFO)


@dataclass(eq=False, repr=False)
class Monitor:
    """Shows figures of the run between steps, and reports the times of the last step."""

    _params: SimulationParams
    _world: World
    _profiler: Profiler
    _collisions: CollisionSystem
    _control: RunControl
    _output: MonitorOutput | None = field(default=None, init=False)
    _meter: RunMeter | None = field(default=None, init=False)

    # ---- for people --------------------------------------------------------------------------------------------------

    @property
    def is_shown(self) -> bool:
        """Whether figures are shown somewhere."""
        return self._output is not None

    def setup(self, output: MonitorOutput | None = None) -> MonitorOutput | None:
        """Show figures in `output` from now on, and return it.

        Without `output` a window is used if the settings enable it and it can be opened; otherwise None is returned.
        """
        if output is None:
            output = self._open_window()
        # The one shown so far ends, also where the new one is the same.
        self.close()
        self._output, self._meter = output, RunMeter(self._world.clock.tick, self._world.clock.time)
        return output

    def _open_window(self) -> MonitorOutput | None:
        """Return the window of the monitor; None where none is asked for, or none can be shown, which is logged."""
        params = self._params
        if not (params.monitor and params.enable_monitor_gui and params.gui):
            return None
        hindrance = window_hindrance()
        if hindrance:
            log.warning("the monitor is not shown: %s", hindrance)
            return None
        window = DataMonitor(
            width=params.monitor_width, height=params.monitor_height, x=params.monitor_x, y=params.monitor_y
        )
        window.start()
        return window

    def update(self) -> None:
        """Show the present figures, if there is an output."""
        # An output that was closed by its user returns False.
        if self._output is not None and not self._output.show(self.figures()):
            self.close()

    def update_if_due(self) -> None:
        """Show figures when they are due."""
        if self._output is not None and self._meter is not None and self._meter.due():
            self.update()

    def close(self) -> None:
        """Close the output."""
        # Forgotten before it is closed, as closing may ask for figures.
        output, self._output = self._output, None
        if output is not None:
            output.close()

    def figures(self) -> MonitorFigures:
        """Return the present figures; rates are averages since the previous call."""
        clock, world = self._world.clock, self._world
        # Rates need a first look; without a monitor this call is it.
        if self._meter is None:
            self._meter = RunMeter(clock.tick, clock.time)
        rates = self._meter.rates(clock.tick, clock.time)
        totals = self._profiler.totals
        agents = world.rows[world.kind[world.rows] == KIND_AGENT]
        return MonitorFigures(
            sim_time=clock.time,
            steps=clock.tick,
            timestep=clock.dt,
            target_rtf=self._params.target_rtf,
            # The profiler counts in ms.
            step_time=0.001 * float(np.mean(totals)) if totals else 0.0,
            agents=len(agents),
            objects=len(world) - len(agents),
            moving=int(drive.moving_mask(world, agents).sum()),
            collisions=len(self._collisions.pairs),
            collision_count=self._collisions.count,
            physics=self._params.physics,
            paused=self._control.is_paused,
            **rates,
        )

    # ---- for programs ------------------------------------------------------------------------------------------------

    def profile(self) -> dict[str, Any]:
        """Return the times of the last step in ms: documented keys, `systems`, `collision_breakdown`, own entries."""
        self._profiler.collision_breakdown = self._collisions.breakdown
        return self._profiler.stats()

    def memory(self) -> dict[str, float]:
        """Return the process's peak memory (nan if the platform does not report it) and the columns' size, in MB."""
        # By identity: some tables are known under two names.
        tables = {id(table): table for table in self._world.tables.values()}
        return {
            "peak_rss_mb": _peak_memory(),
            "columns_mb": sum(table.nbytes for table in tables.values()) / 1024.0**2,
        }

    def logs(self) -> bool:
        """Return whether the profile or the memory use is logged."""
        return self._params.enable_time_profiling or self._params.enable_memory_profiling

    def log_profile(self) -> None:
        """Log the profile and memory use, in the steps selected by the settings."""
        params = self._params
        # The step under way is counted when it ends.
        step = self._world.clock.tick + 1
        if step % params.profiling_interval == 0:
            if params.enable_time_profiling:
                profile_log.info("step %d: %s", step, self._profiler.summary())
            if params.enable_memory_profiling:
                usage = ", ".join(f"{name} {value:.1f}" for name, value in self.memory().items())
                profile_log.info("step %d: %s", step, usage)


def _peak_memory() -> float:
    """Return the most memory this process has held so far, in MB; nan where the platform does not tell."""
    try:
        import resource
    except ImportError:
        # Windows has no such module, and the rest of the library does without.
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)
