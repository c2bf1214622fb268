"""The panel that all pages share: the run, what is shown, plots."""

from __future__ import annotations

import math

import viser

from fleet_sim.viewer.web.coloring import OWN, color_modes, legend_of, moving_mask
from fleet_sim.viewer.web.inputs import SharedInput, add_button, chosen
from fleet_sim.viewer.web.overlays import MOST_NAMES
from fleet_sim.viewer.web.plots import Plots
from fleet_sim.viewer.web.source import Source, ViewFrame

SPEEDS = {
    "0.1x": 0.1,
    "0.25x": 0.25,
    "0.5x": 0.5,
    "1x": 1.0,
    "2x": 2.0,
    "5x": 5.0,
    "10x": 10.0,
    "as fast as possible": 0.0,
}
"""What can be chosen, and the real-time factor of each; another that a run has is a choice, too."""
ALL_LEVELS = "all"
PAUSE, RESUME = "Pause", "Resume"
PAUSES, RESUMES = viser.Icon.PLAYER_PAUSE, viser.Icon.PLAYER_PLAY
RUN, SHOW, SELECTED, ADD, PLOTS = 1.0, 4.0, 2.0, 3.0, 5.0
"""The order of the folders."""


class Panel:
    """Controls of the run and of what is shown; without controls of the run in a view that only looks."""

    def __init__(self, gui: viser.GuiApi, source: Source, *, may_act: bool) -> None:
        self._source = source
        self._status: viser.GuiMarkdownHandle
        self._pause: viser.GuiButtonHandle | None = None
        self._step: viser.GuiButtonHandle | None = None
        self._speed: SharedInput | None = None
        self._speeds = SPEEDS
        self._axis: SharedInput | None = None
        self._seen_time: float | None = None
        self._paused = False
        # A recording is played by who looks at it; that changes nothing.
        with gui.add_folder("Run", order=RUN):
            self._status = gui.add_markdown("")
            if may_act or not source.takes_commands:
                self._add_controls(gui)
        with gui.add_folder("Show", order=SHOW):
            self.colors = gui.add_dropdown("colors", (OWN,), hint="What robots are colored by")
            self._legend = gui.add_markdown("", visible=False)
            self.collisions = gui.add_checkbox("collisions", True, hint="Whatever touches something is red")
            levels = {plan.name: number for number, plan in enumerate(source.floor_plans)}
            self._levels = levels if len(levels) > 1 else {}
            self._level = gui.add_dropdown(
                "level", (ALL_LEVELS, *self._levels), visible=bool(self._levels), hint="The storey that is shown"
            )
            self.names = gui.add_checkbox("names", False, hint=f"Of stations, and of the first {MOST_NAMES} robots")
            self.paths = gui.add_checkbox("paths", True, hint="What is ahead; of the selected robot always")
            self.scans = gui.add_checkbox(
                "scans", False, visible=source.takes_commands, hint="Where rays of lidars end"
            )
        with gui.add_folder("Plots", order=PLOTS, expand_by_default=False):
            self._plots = Plots(gui)

    @property
    def color_mode(self) -> str:
        """What robots are colored by, one of `color_modes`."""
        return chosen(self.colors, OWN)

    @property
    def level(self) -> int | None:
        """The number of the floor plan that is shown alone; None: all."""
        return self._levels.get(self._level.value)

    def _add_controls(self, gui: viser.GuiApi) -> None:
        source = self._source
        self._pause = add_button(gui, PAUSE, lambda: source.set_paused(not self._paused), PAUSES)
        self._step = add_button(gui, "Step", source.step, viser.Icon.PLAYER_TRACK_NEXT, visible=False)
        hint = "Simulated seconds per real second"
        speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1x", hint=hint)
        self._speed = SharedInput(speed, lambda value: source.set_speed(self._speeds[value]))
        times = source.times
        if times is not None:
            step = max((times[1] - times[0]) / 1000.0, 1e-6)
            axis = gui.add_slider("time", times[0], max(times[1], times[0] + step), step, times[0])
            self._axis = SharedInput(axis, self._seek)
        if source.resets:
            add_button(gui, "Reset", source.reset, viser.Icon.ROTATE, hint="Begin again, with everything as it was")

    def _seek(self, time: float) -> None:
        self._source.seek(time)
        # Not before, when a frame of the time before could still come.
        self._plots.begin_again()

    def show(self, frame: ViewFrame) -> None:
        """Bring the panel up to date."""
        snapshot, status = frame.snapshot, frame.status
        self._plots.note(frame)
        modes = color_modes(snapshot)
        if tuple(self.colors.options) != modes:
            self.colors.options = modes
        legend = legend_of(self.color_mode)
        self._legend.visible = bool(legend)
        self._legend.content = legend
        robots = int(snapshot.agent_mask.sum())
        moving = int((moving_mask(snapshot) & snapshot.agent_mask).sum())
        state = "paused" if status.paused else f"{self._plots.factor:.3g}x"
        count = f"{robots} robot{'s' * (robots != 1)}"
        # Whole tenths: text that does not change is not sent. On two lines at any time: what is below never moves.
        self._status.content = f"**{snapshot.time:.1f} s** · {state}\n\n{count}, {moving} moving"
        self._paused = status.paused
        if self._pause is not None and self._step is not None and self._speed is not None:
            self._pause.label = RESUME if status.paused else PAUSE
            self._pause.icon = RESUMES if status.paused else PAUSES
            self._step.visible = status.paused
            self._show_speed(self._speed, status.speed)
        if self._axis is not None:
            self._axis.show(snapshot.time)

    def _show_speed(self, speed: SharedInput, factor: float) -> None:
        known = next((name for name, choice in self._speeds.items() if choice == factor), None)
        name = known or f"{factor:.6g}x"
        # While a page has chosen another, that stays until it has been acted on.
        if speed.show(name) and known is None:
            choices = {**SPEEDS, name: factor}
            # They rise, and what has no limit is the last.
            self._speeds = dict(sorted(choices.items(), key=lambda choice: choice[1] or math.inf))
            speed.set_options(tuple(self._speeds))
