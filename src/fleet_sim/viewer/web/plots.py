"""Live plots: moving robots, throughput, real-time factor and time of a step, over the last minutes."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
import viser
from viser import uplot

from fleet_sim.viewer.web.coloring import moving_mask
from fleet_sim.viewer.web.source import ViewFrame

PERIOD = 0.5
"""Between two points of a plot, in s of real time."""
MOST_POINTS = 600
PLOTS = (
    ("moving robots", "", (38, 116, 217)),
    ("throughput", "deliveries per hour", (46, 160, 95)),
    ("real-time factor", "", (155, 89, 182)),
    ("step", "ms", (234, 140, 30)),
)


class Plots:
    """The plots of a panel, and the real-time factor that was measured last."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self.factor = 0.0
        self._begins_again = False
        self._times: deque[float] = deque(maxlen=MOST_POINTS)
        self._values: tuple[deque[float], ...] = tuple(deque(maxlen=MOST_POINTS) for _ in PLOTS)
        self._last: tuple[float, float] | None = None
        empty = (np.array([0.0, 1.0]), np.array([np.nan, np.nan]))
        self._handles = [self._add(gui, name, unit, color, empty) for name, unit, color in PLOTS]

    def _add(
        self,
        gui: viser.GuiApi,
        name: str,
        unit: str,
        color: tuple[int, int, int],
        empty: tuple[np.ndarray, ...],
    ) -> viser.GuiUplotHandle:
        line = "rgb({}, {}, {})".format(*color)
        fill = "rgba({}, {}, {}, 0.12)".format(*color)
        series = (uplot.Series(label="time"), uplot.Series(label=name, stroke=line, fill=fill, width=2))
        return gui.add_uplot(
            empty,
            series,
            title=f"{name} [{unit}]" if unit else name,
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
            legend=uplot.Legend(show=False),
            height=130,
        )

    def note(self, frame: ViewFrame) -> None:
        """Add a point to each plot, if it is time for one."""
        now, sim_time = time.monotonic(), frame.snapshot.time
        if self._begins_again:
            # What happened in between is not known: no line goes there, and the time that it takes is not its speed.
            self._begins_again, self._last = False, None
            self._clear()
        if self._last is not None and now - self._last[0] < PERIOD:
            return
        if self._last is not None and sim_time < self._last[1]:
            self._clear()
        if self._last is not None and sim_time > self._last[1]:
            self.factor = (sim_time - self._last[1]) / (now - self._last[0])
            self._add_point(frame)
        elif self._last is not None:
            self.factor = 0.0
        self._last = (now, sim_time)

    def begin_again(self) -> None:
        """Forget what was before with the next frame, from any thread: it is of another time of a recording."""
        self._begins_again = True

    def _clear(self) -> None:
        self._times.clear()
        for values in self._values:
            values.clear()

    def _add_point(self, frame: ViewFrame) -> None:
        snapshot, status = frame.snapshot, frame.status
        moving = int(np.count_nonzero(moving_mask(snapshot) & snapshot.agent_mask))
        throughput = np.nan if status.throughput is None else status.throughput
        # A recording makes no steps.
        step_time = 1e3 * status.step_time if status.step_times else np.nan
        self._times.append(snapshot.time)
        for values, value in zip(self._values, (moving, throughput, self.factor, step_time), strict=True):
            values.append(float(value))
        if len(self._times) < 2:
            return
        times = np.array(self._times)
        for number, handle in enumerate(self._handles):
            values = self._values[number]
            # What is not there, such as deliveries in a hall without orders, has no plot.
            handle.visible = bool(np.isfinite(values).any())
            if handle.visible:
                handle.data = (times, np.array(values))
