"""Plots of metrics over time: in a file at the end of a run, or in a window while it goes on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet_sim.errors import missing_extra
from fleet_sim.output import replacing
from fleet_sim.settings import setting
from fleet_sim.swarm.parameters import Configured, documented, file_setting
from fleet_sim.swarm.pictures import check_path
from fleet_sim.swarm.swarm_world import Subscriber, SwarmWorld

ENDINGS = (".png", ".svg", ".pdf", ".jpg")
"""Of the files a plot is written to."""

MOST_POINTS = 4000
"""Beyond these, every other point is dropped and points are taken half as often."""


@documented
@dataclass(eq=False, repr=False)
class MetricPlot(Configured, Subscriber):
    """Plots metrics over simulated time.

    With `path` the plot is written when it is closed, in the format of the ending. With `live` it is in a window that
    follows the run, redrawn after every `every` steps.
    """

    path: Path | None = file_setting(None, "The file to write; null: none.")
    metrics: list[str] | None = setting(None, doc="Names of the metrics; null: all.")
    every: int = setting(30, low=1, unit="steps", doc="Steps between two drawings of the window.")
    live: bool = setting(False, doc="Show a window that follows the run.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError, MissingDependencyError where matplotlib is not installed."""
        super().__post_init__()
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise missing_extra("matplotlib", "plot", "plotting metrics") from error
        if self.path is None and not self.live:
            raise self.refuse("a plot needs a path, or live: true")
        if self.path is not None:
            check_path(self.path, ENDINGS)
        self._figure: Any = None
        self._new_figure: Any = Figure
        self._stride = 1
        self._written = -1
        self.times: list[float] = []
        self.values: dict[str, list[float]] = {}

    def settled(self) -> Collection[str]:
        """Return `metrics` from the first step on, which chooses what is noted."""
        return ("metrics",) if self.values else ()

    def step(self, world: SwarmWorld) -> None:
        """Note the metrics of this step."""
        # With the first step, not before: metrics may be added up to then.
        if not self.values:
            names = [metric.name for metric in world.metrics] if self.metrics is None else self.metrics
            self.values = {world.metric(name).name: [] for name in names}
        if world.steps % self._stride == 0:
            # Times and values are noted in the same steps, so both lists are as long.
            self.times.append(world.time)
            for name, values in self.values.items():
                values.append(world.metric(name).value)
        if len(self.times) > MOST_POINTS:
            # Memory stays bounded however long a run is. The points kept are the multiples of the new stride, so they
            # stay evenly spaced.
            self._stride *= 2
            self.times = self.times[1::2]
            self.values = {name: values[1::2] for name, values in self.values.items()}
        if self.live and world.steps % self.every == 0:
            self._show()

    def _show(self) -> None:
        """Draw the metrics in a window, while the run goes on."""
        import matplotlib.pyplot as plt

        if self._figure is None:
            # Interactive: the window is drawn and the run goes on.
            plt.ion()
            self._figure = plt.figure("metrics")
        self._draw(self._figure)
        self._figure.canvas.draw_idle()
        self._figure.canvas.flush_events()

    def _draw(self, figure: Any) -> None:
        figure.clear()
        axes = figure.subplots(max(1, len(self.values)), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (name, values) in zip(axes, self.values.items(), strict=False):
            axis.plot(self.times, values, linewidth=1.2)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
        axes[-1].set_xlabel("simulated time in s")

    def close(self) -> None:
        """Write the plot; may be called again, after further steps too."""
        # Closing twice is usual, by a world and by `main`; the same points are not written again.
        if self.path is not None and len(self.times) != self._written:
            self._written = len(self.times)
            figure = self._new_figure(figsize=(7.0, 1.2 + 1.8 * max(1, len(self.values))), layout="constrained")
            self._draw(figure)
            with replacing(self.path) as part:
                figure.savefig(part, dpi=120)
