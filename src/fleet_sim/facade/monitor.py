"""The monitor: figures of a run, shown while it runs."""

from __future__ import annotations

import logging

import numpy as np

from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.entities import drive
from fleet_sim.facade.base import SimulationParts
from fleet_sim.monitor import DataMonitor, MonitorFigures, MonitorOutput, RunMeter, window_hindrance

log = logging.getLogger(__name__)


class MonitorFacade(SimulationParts):
    """Figures of the run, for people. They are taken between steps, twice per second of real time."""

    _monitor_output: MonitorOutput | None = None
    _meter: RunMeter | None = None

    def setup_monitor(self, output: MonitorOutput | None = None) -> MonitorOutput | None:
        """Show figures in `output` from now on, and return it.

        Without one it is a DataMonitor window, where `params` ask for it (`monitor`, `enable_monitor_gui` and `gui`)
        and it can be opened; `run_simulation` does that by itself. Returns None where there is nowhere to show figures.
        """
        params = self.params
        if output is None and params.monitor and params.enable_monitor_gui and params.gui:
            hindrance = window_hindrance()
            if hindrance:
                log.warning("the monitor is not shown: %s", hindrance)
            else:
                window = DataMonitor(
                    width=params.monitor_width, height=params.monitor_height, x=params.monitor_x, y=params.monitor_y
                )
                window.start()
                output = window
        self.close_monitor()
        self._monitor_output, self._meter = output, RunMeter(self.clock.tick, self.clock.time)
        return output

    def update_monitor(self) -> None:
        """Show the present figures, if there is a monitor; what runs by itself need not call this."""
        if self._monitor_output is not None and not self._monitor_output.show(self.monitor_figures()):
            self.close_monitor()

    def close_monitor(self) -> None:
        """Show figures no more."""
        output, self._monitor_output = self._monitor_output, None
        if output is not None:
            output.close()

    def monitor_figures(self) -> MonitorFigures:
        """Return the present figures; rates are of the time since the call before."""
        if self._meter is None:
            self._meter = RunMeter(self.clock.tick, self.clock.time)
        world, params = self.world, self.params
        rates = self._meter.rates(self.clock.tick, self.clock.time)
        totals = self.profiler.totals
        agents = world.rows[world.kind[world.rows] == KIND_AGENT]
        return MonitorFigures(
            sim_time=self.clock.time,
            steps=self.clock.tick,
            timestep=self.clock.dt,
            target_rtf=params.target_rtf,
            # The profiler counts in ms.
            step_time=0.001 * float(np.mean(totals)) if totals else 0.0,
            agents=len(agents),
            objects=len(world) - len(agents),
            moving=int(drive.moving_mask(world, agents).sum()),
            collisions=len(self.collisions.pairs),
            collision_count=self.collisions.count,
            physics=params.physics,
            paused=self._paused,
            **rates,
        )

    def _follow_run(self) -> None:
        """Show figures when they are due."""
        if self._monitor_output is not None and self._meter is not None and self._meter.due():
            self.update_monitor()
