"""The panel that all pages share: the run, what is shown, colors of bodies, overlays and live plots."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser
from viser import uplot

from fleet_sim.apps.viewer.bodies import ShownBodies
from fleet_sim.apps.viewer.source import Source, ViewFrame
from fleet_sim.base.arrays import Bools, Bytes, Floats
from fleet_sim.base.spatial import quaternions
from fleet_sim.warehouse.sites.drawing import PATH_COLOR, STATION_COLORS, FloorPlan
from fleet_sim.world.features import FEATURES, Feature
from fleet_sim.world.snapshot import Appearance, PathsAhead, Snapshot

# Colors of bodies: their own, or by what their robots do, are or have left; collisions come before all.


COLLIDING = (222, 42, 42)
MOVING, IDLE, CARRYING = (46, 160, 95), (158, 166, 178), (38, 116, 217)
TYPES: Bytes = np.array(
    [(38, 116, 217), (234, 140, 30), (46, 160, 95), (155, 89, 182), (23, 162, 184), (214, 82, 122), (120, 110, 60)],
    np.uint8,
)
FULL, HALF, EMPTY = np.array((46, 160, 95.0)), np.array((240, 190, 40.0)), np.array((222, 42, 42.0))
WITHOUT = (158, 166, 178)
"""Of robots that do not have what is colored by."""
SLOW = 1e-3
"""Below this speed, in m/s and rad/s, a robot counts as standing."""


OWN, STATE, TYPE = "their own", "state", "type"


def color_modes(snapshot: Snapshot) -> tuple[str, ...]:
    """Return what robots can be colored by: features that have levels, too, once they are in use."""
    return (OWN, STATE, TYPE, *filter(_has_levels, snapshot.features))


def legend_of(mode: str) -> str:
    """Return what the colors of a mode mean; "" where there is nothing to explain."""
    if mode == STATE:
        return "green: moving, blue: carrying, gray: standing"
    if mode in (OWN, TYPE):
        return ""
    return "green: full, yellow: half full, red: empty, gray: has none"


def station_legend(plans: Sequence[FloorPlan]) -> str:
    """Return Markdown that shows the color of each kind of station that there is; "" without any."""
    there = {station.kind for plan in plans for station in plan.stations}
    lines = [
        f'<font color="#{red:02x}{green:02x}{blue:02x}">&#9632;</font>&nbsp;{kind.value}'
        for kind, (red, green, blue) in STATION_COLORS.items()
        if kind in there
    ]
    return f"stations: {', '.join(lines)}" if lines else ""


def _has_levels(feature: str) -> bool:
    return feature in FEATURES and type(FEATURES.get(feature)).levels is not Feature.levels


def colors_of(snapshot: Snapshot, bodies: ShownBodies, mode: str, *, collisions: bool) -> Bytes:
    """Return the colors (M, 3) of all instances; with `collisions`, what collides is red."""
    table = bodies.table
    colors = np.ascontiguousarray(table.colors[:, :3])
    if mode != OWN:
        known = _BY_MODE.get(mode)
        by_entity = _by_feature(snapshot, mode) if known is None else known(snapshot, bodies.appearance)
        robots_mask = snapshot.agent_mask[table.rows]
        colors[robots_mask] = by_entity[table.rows[robots_mask]]
    if collisions and len(snapshot.collisions):
        touching_mask = np.zeros(len(snapshot.names), np.bool_)
        touching_mask[snapshot.collisions.reshape(-1)] = True
        colors[touching_mask[table.rows]] = COLLIDING
    return colors


def moving_mask(snapshot: Snapshot) -> Bools:
    """Return which entities move, (N,)."""
    speeds = np.abs(snapshot.velocities).max(axis=1, initial=0.0)
    turns = np.abs(snapshot.angular_velocities).max(axis=1, initial=0.0)
    mask: Bools = (speeds > SLOW) | (turns > SLOW)
    return mask


def _by_state(snapshot: Snapshot, looks: Appearance) -> Bytes:
    colors = np.tile(np.array(IDLE, np.uint8), (len(snapshot.names), 1))
    colors[moving_mask(snapshot)] = MOVING
    carriers = snapshot.carriers[snapshot.carriers >= 0]
    colors[carriers] = CARRYING
    return colors


def _by_type(snapshot: Snapshot, looks: Appearance) -> Bytes:
    # Robots of one description are of one type, and those of one shape.
    kinds = np.where(looks.model_ids >= 0, looks.model_ids, len(looks.models) + looks.shape_ids)
    numbers = np.zeros(len(kinds), np.int64)
    own = np.flatnonzero(snapshot.agent_mask)
    numbers[own] = np.unique(kinds[own], return_inverse=True)[1].reshape(-1)
    chosen: Bytes = TYPES[numbers % len(TYPES)]
    return chosen


def _by_feature(snapshot: Snapshot, name: str) -> Bytes:
    colors = np.tile(np.array(WITHOUT, np.uint8), (len(snapshot.names), 1))
    columns = snapshot.features.get(name)
    if columns is None:
        return colors
    has = np.flatnonzero(columns["present"])
    level: Floats = FEATURES.get(name).levels(columns)[has, None]
    upper = HALF + (FULL - HALF) * (2.0 * level - 1.0)
    lower = EMPTY + (HALF - EMPTY) * (2.0 * level)
    colors[has] = np.where(level > 0.5, upper, lower).astype(np.uint8)
    return colors


_BY_MODE = {STATE: _by_state, TYPE: _by_type}


# What is drawn over the bodies on request: paths, scans and names.


SCAN = (205, 30, 165)
"""Not red, which is for collisions."""
MOST_LINES = 20_000
MOST_NAMES = 100
LIFT = 0.03
"""Of paths above the floor, in m."""
PATH_PERIOD = 0.25
"""In s of real time, between two sendings of all lines but the first of each robot: somebody always turns a corner."""
NAME_LIFT = 0.5
"""Of names above the origins of robots, in m."""

_NONE: Floats = np.empty((0, 2, 3))


class _Lines:
    """A set of lines on the page, sent when it has changed."""

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._handle: viser.LineSegmentsHandle | None = None

    def show(self, lines: Floats) -> None:
        """Show `lines` (L, 2, 3) a little above the floor."""
        if not len(lines):
            if self._handle is not None:
                self._handle.visible = False
            return
        lifted = np.asarray(lines, np.float32) + np.array((0.0, 0.0, LIFT), np.float32)
        if self._handle is None:
            self._handle = self._scene.add_line_segments(
                self._name, lifted, PATH_COLOR, thickness=1.5, thickness_units="screen"
            )
        # Sent by viser where it has changed.
        self._handle.points = lifted
        self._handle.visible = True


class Overlays:
    """Paths, scans and names; each is on the page only while it is asked for."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self.paths = self.scans = self.names = False
        self._scene = scene
        self._moving, self._staying = _Lines(scene, "/paths/first"), _Lines(scene, "/paths/later")
        self._sent = 0.0
        self._points: viser.PointCloudHandle | None = None
        self._labels: dict[str, viser.LabelHandle] = {}

    def show(self, frame: ViewFrame) -> None:
        """Bring all of it up to date."""
        # While nothing moves, nothing else may be shown for long.
        self._show_paths(frame.paths, at_once=frame.status.paused)
        self._show_scans(frame.scans)
        self._show_names(frame)

    def _show_paths(self, paths: PathsAhead, *, at_once: bool) -> None:
        first_mask = np.diff(paths.robots, prepend=-1) != 0
        # What begins at a robot moves with it, the rest stays until somebody has passed a waypoint.
        self._moving.show(paths.lines[first_mask][:MOST_LINES] if self.paths else _NONE)
        now = time.monotonic()
        if at_once or not self.paths or now - self._sent > PATH_PERIOD:
            self._sent = now
            self._staying.show(paths.lines[~first_mask][:MOST_LINES] if self.paths else _NONE)

    def _show_scans(self, points: Floats) -> None:
        if not self.scans or not len(points):
            if self._points is not None:
                self._points.visible = False
            return
        if self._points is None:
            self._points = self._scene.add_point_cloud(
                "/scans", points.astype(np.float32), SCAN, point_size=0.05, point_shape="circle", precision="float32"
            )
        self._points.points = points.astype(np.float32)
        self._points.visible = True

    def _show_names(self, frame: ViewFrame) -> None:
        snapshot = frame.snapshot
        robots = np.flatnonzero(snapshot.agent_mask)[:MOST_NAMES].tolist() if self.names else []
        wanted = {snapshot.names[robot]: snapshot.positions[robot] for robot in robots}
        for name in self._labels.keys() - wanted.keys():
            self._labels.pop(name).remove()
        for name, position in wanted.items():
            at = position + np.array((0.0, 0.0, NAME_LIFT))
            label = self._labels.get(name)
            if label is None:
                # Names of robots may have slashes, which would make a tree of them.
                path = f"/names/{name.encode().hex()}"
                self._labels[name] = self._scene.add_label(path, name, position=at, anchor="bottom-center")
            else:
                label.position = at


# Live plots: moving robots, throughput, real-time factor and time of a step, over the last minutes.


PERIOD = 0.5
"""Between two points of a plot, in s of real time."""
MOST_POINTS = 600
PLOTS = (
    ("moving robots", "", (38, 116, 217)),
    ("throughput", "deliveries per hour", (46, 160, 95)),
    ("real-time factor", "", (155, 89, 182)),
    ("step", "ms", (234, 140, 30)),
)


FIRST, LATER = (np.array([0.0, 1.0]), np.array([np.nan, np.nan])), (155, 89, 182)
NO_COLUMN = "none"


def new_plot(
    gui: viser.GuiApi, name: str, unit: str, color: tuple[int, int, int], *, visible: bool = True
) -> viser.GuiUplotHandle:
    """Return a plot over time, without a point so far."""
    line = "rgb({}, {}, {})".format(*color)
    fill = "rgba({}, {}, {}, 0.12)".format(*color)
    series = (uplot.Series(label="time"), uplot.Series(label=name, stroke=line, fill=fill, width=2))
    return gui.add_uplot(
        FIRST,
        series,
        title=f"{name} [{unit}]" if unit else name,
        scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
        legend=uplot.Legend(show=False),
        height=130,
        visible=visible,
    )


def columns_of(snapshot: Snapshot, index: int) -> dict[str, float]:
    """Return the numbers that a snapshot has of an entity, by what they are called in a list."""
    values = dict(zip(("x [m]", "y [m]", "z [m]"), snapshot.positions[index].tolist(), strict=True))
    values["heading [deg]"] = math.degrees(quaternions.yaw_of(snapshot.orientations, index))
    values["speed [m/s]"] = float(np.linalg.norm(snapshot.velocities[index]))
    values["turn [deg/s]"] = math.degrees(snapshot.angular_velocities[index, 2])
    for number, (position, velocity) in enumerate(zip(*snapshot.joints_of(index), strict=True), 1):
        values[f"joint {number}"], values[f"joint {number} velocity"] = float(position), float(velocity)
    for feature, columns in snapshot.features.items():
        if columns["present"][index]:
            own = {name: column[index] for name, column in columns.items() if name != "present" and column.ndim == 1}
            values |= {f"{feature} {name}": float(value) for name, value in own.items()}
    return values


class OwnPlot:
    """A page's plot of a column of what is selected there, over the last minutes."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self._column = gui.add_dropdown("plot", (NO_COLUMN,), visible=False, hint="A column of it, over time")
        self._handle = new_plot(gui, "value", "", LATER, visible=False)
        self._points: deque[tuple[float, float]] = deque(maxlen=MOST_POINTS)
        self._of = ("", NO_COLUMN)
        self._sent = 0.0

    def show(self, snapshot: Snapshot, index: int) -> None:
        """Add a point."""
        values = columns_of(snapshot, index)
        options = (NO_COLUMN, *values)
        if tuple(self._column.options) != options:
            self._column.options = options
        self._column.visible = True
        of = (snapshot.names[index], chosen(self._column, NO_COLUMN))
        if of != self._of or (self._points and snapshot.time < self._points[-1][0]):
            self._points.clear()
            self._sent = 0.0
        self._of, column = of, of[1]
        if column != NO_COLUMN and (not self._points or snapshot.time > self._points[-1][0]):
            self._points.append((snapshot.time, values[column]))
        self._handle.visible = column != NO_COLUMN and len(self._points) > 1
        if self._handle.visible and time.monotonic() - self._sent >= PERIOD:
            self._sent = time.monotonic()
            self._handle.title = column
            times, shown = np.array(self._points).T
            self._handle.data = (times.copy(), shown.copy())

    def hide(self) -> None:
        """Show none: nothing is selected."""
        self._column.visible = self._handle.visible = False


class Plots:
    """The plots of a panel, and the real-time factor that was measured last."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self.factor = 0.0
        self._begins_again = False
        self._times: deque[float] = deque(maxlen=MOST_POINTS)
        self._values: tuple[deque[float], ...] = tuple(deque(maxlen=MOST_POINTS) for _ in PLOTS)
        self._last: tuple[float, float] | None = None
        self._handles = [new_plot(gui, *plot) for plot in PLOTS]

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


# Buttons and other inputs of a panel.


def add_button(
    gui: viser.GuiApi,
    label: str,
    act: Callable[[], object],
    icon: viser.IconName,
    *,
    hint: str | None = None,
    visible: bool = True,
) -> viser.GuiButtonHandle:
    """Return a button that does `act` when it is pressed."""
    button = gui.add_button(label, icon=icon, hint=hint, visible=visible)

    def pressed(event: Any) -> None:
        act()

    button.on_click(pressed)
    return button


def add_key(gui: viser.GuiApi, label: str, key: Any, act: Callable[[], object]) -> None:
    """Have a key of the page do `act`, which the page lists as `label`."""

    def triggered(event: object) -> None:
        act()

    gui.add_command(label, hotkey=key).on_trigger(triggered)


def chosen(dropdown: Any, otherwise: str) -> str:
    """Return what is chosen of a dropdown; where a page has sent what is no choice, `otherwise`."""
    value: str = dropdown.value
    return value if value in dropdown.options else otherwise


class SharedInput:
    """An input that all pages share: it shows what is so, and does `act` with what a page has set it to.

    viser calls back from another thread, some time after it has the new value. Until then `show` leaves it alone: a
    frame from before would put the old value in its place, and that would be what is acted on.
    """

    def __init__(self, handle: Any, act: Callable[[Any], object]) -> None:
        self._handle, self._act = handle, act
        self._known = handle.value
        handle.on_update(self._changed)

    def show(self, value: object) -> bool:
        """Set it to what is so; returns whether it is, and not what a page has set it to a moment ago."""
        if self._handle.value != self._known:
            return False
        self._known = value
        show_value(self._handle, value)
        return True

    @property
    def options(self) -> tuple[str, ...]:
        """What can be chosen."""
        return tuple(self._handle.options)

    def set_options(self, options: tuple[str, ...]) -> None:
        """Set what can be chosen; where what is shown is not among it, the first is shown."""
        if self.options != options:
            self._handle.options = options
            self._known = self._handle.value

    def _changed(self, event: Any) -> None:
        # What the program sets comes back, too.
        if event.client is None:
            return
        value = self._handle.value
        # Not a number, which is not equal to itself, is no choice either.
        if value != value or value not in getattr(self._handle, "options", (value,)):
            show_value(self._handle, self._known)
            return
        self._known = value
        self._act(value)


def show_value(handle: Any, value: object) -> None:
    """Set an input to what is so."""
    if handle.value != value:
        # mypy takes the value of these handles for one that cannot be set.
        handle.value = value


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
RUN, SELECTED, FIND, ADD, SHOW, PANEL_PLOTS = 1.0, 2.0, 2.5, 3.0, 4.0, 5.0
"""The order of the folders."""


def literal(text: str) -> str:
    """Return Markdown that shows `text` as it is.

    Names come from messages and recordings. As Markdown they could be HTML with scripts, which the page would run, or
    the path of a picture, which the server would read.
    """
    return "".join(char if char.isalnum() or char in " .,:+-/%" else f"&#{ord(char)};" for char in text)


class PanelText:
    """Text on a page: the only place where it becomes Markdown."""

    def __init__(self, gui: viser.GuiApi, markdown: str = "", *, visible: bool = True) -> None:
        self._handle = gui.add_markdown(markdown, visible=visible)

    def show(self, markdown: str, *values: str) -> None:
        """Show `markdown`, a constant, with the values at its `{}` as they are. Without any text it is not there."""
        self._handle.content = markdown.format(*map(literal, values))
        self._handle.visible = bool(markdown)


class Panel:
    """Controls of the run and of what is shown; without controls of the run in a view that only looks."""

    def __init__(self, gui: viser.GuiApi, source: Source, *, may_act: bool) -> None:
        self._source = source
        self._pause: viser.GuiButtonHandle | None = None
        self._step: viser.GuiButtonHandle | None = None
        self._speed: SharedInput | None = None
        self._speeds = SPEEDS
        self._axis: SharedInput | None = None
        self._seen_time: float | None = None
        self._paused = False
        # A recording is played by who looks at it; that changes nothing.
        with gui.add_folder("Run", order=RUN):
            self._status = PanelText(gui)
            if may_act or not source.takes_commands:
                self._add_controls(gui)
        with gui.add_folder("Show", order=SHOW):
            self.colors = gui.add_dropdown("colors", (OWN,), hint="What robots are colored by")
            self._legend = PanelText(gui, visible=False)
            self._stations = PanelText(gui, visible=False)
            self._stations.show(station_legend(source.floor_plans))
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
        with gui.add_folder("Plots", order=PANEL_PLOTS, expand_by_default=False):
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
        add_key(gui, "Pause or resume", "space", lambda: source.set_paused(not self._paused))
        self._step = add_button(gui, "Step", source.step, viser.Icon.PLAYER_TRACK_NEXT, visible=False)
        hint = "Simulated seconds per real second"
        speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1x", hint=hint)
        self._speed = SharedInput(speed, lambda value: source.set_speed(self._speeds[value]))
        times = source.times
        if times is not None:
            step = max((times[1] - times[0]) / 1000.0, 1e-6)
            axis = gui.add_slider("time", times[0], max(times[1], times[0] + step), step, times[0])
            self._axis = SharedInput(axis, self._seek)
        if source.rewinds:
            hint = "Pause at the last state that was kept, one for each ten simulated seconds; again: the one before"
            add_button(gui, "Go back", source.rewind, viser.Icon.ROTATE_2, hint=hint)
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
        self._legend.show(legend_of(self.color_mode))
        robots = int(snapshot.agent_mask.sum())
        moving = int((moving_mask(snapshot) & snapshot.agent_mask).sum())
        state = "paused" if status.paused else f"{self._plots.factor:.3g}x"
        if status.compiling:
            state += f" · {status.compiling}"
        count = f"{robots} robot{'s' * (robots != 1)}"
        # Whole tenths: text that does not change is not sent. On two lines at any time: what is below never moves.
        self._status.show("**{} s** · {}\n\n{}, {} moving", f"{snapshot.time:.1f}", state, count, str(moving))
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
