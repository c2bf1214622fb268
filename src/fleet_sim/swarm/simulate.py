"""`main`: a world from its configuration to the end of its run, with a window or without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from fleet_sim.base.arrays import as_float, as_whole
from fleet_sim.base.errors import StateError
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.controllers.single_agent import HumanController
from fleet_sim.swarm.pictures import GifRecorder
from fleet_sim.swarm.world import RectangularWorld, World_from_config
from fleet_sim.swarm.world_config import WorldConfig

# Playing a world: pause, single steps, speed, selection, recording, by keys. The loop of `simulate.main`.


MOST_STEPS_PER_FRAME = 256
SLOWER = 1.5
"""How much slower each press of the left shift key makes it, at one step per frame."""

MOST_SLOWER = 12
REACH = 0.3
"""How far from an agent, in m, a click still selects it."""

HELP = (
    "space k: pause   right l: one step   shift: faster, slower   r: count steps anew   backspace: start again",
    "click: select   p: remove selected   a: select all   c: select none   i: metrics   f4: record a GIF"
    "   escape: close",
)


@dataclass(frozen=True)
class Event:
    """What the user did in a window: a key went down, or a click on a point (2,) of the world."""

    kind: Literal["key", "click"]
    key: str = ""
    point: tuple[float, float] = (0.0, 0.0)


class Window(Protocol):
    """What shows a world: that of the viewer, or one of your own."""

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""

    def events(self) -> list[Event]:
        """Return what the user did since the last call, in order, and tell the world which keys are held."""

    def show(self, world: RectangularWorld, lines: list[str], selected: list[SwarmAgent]) -> None:
        """Draw the world, with lines of text and the selected agents marked."""

    def close(self) -> None:
        """Close it; may be called again."""


class Player:
    """Runs a world with a window, or without one.

    In each frame the window's events are handled, then come `steps_per_frame` steps unless paused, then the world is
    drawn. Without a window there are only steps.
    """

    def __init__(
        self,
        world: RectangularWorld,
        window: Window | None = None,
        *,
        steps_per_frame: int = 1,
        paused: bool = False,
        frame_rate: float = 200.0,
        gif: tuple[int, int, int] = (1200, 3, 50),
    ) -> None:
        """`gif` is what a recording has: its duration in steps, every so many steps a picture, shown for so many ms."""
        self.world = world
        self.window = window
        self.steps_per_frame = as_whole(steps_per_frame, "step_size")
        self.paused = paused
        self.frame_rate = as_float(frame_rate, "framerate_limit", low=1e-3)
        self.slower = 0
        self.selected: list[SwarmAgent] = []
        self.shows_metrics = True
        duration, every, shown = gif
        self._gif = (
            as_whole(duration, "save_duration"),
            as_whole(every, "save_every_ith_frame"),
            as_whole(shown, "save_time_per_frame"),
        )
        self._recorder: GifRecorder | None = None
        self._counted_from = 0
        self._keys = self._shortcuts()

    def _shortcuts(self) -> dict[str, Callable[[], object]]:
        """Return what keys do, by their names."""
        return {
            **dict.fromkeys(("space", "k"), self._toggle),
            **dict.fromkeys(("right", "l"), self._step_once),
            "shift_r": self._faster,
            "shift_l": self._slow_down,
            "r": self._count_anew,
            "backspace": self._start_again,
            "f4": self._record,
            "i": self._toggle_metrics,
            "p": self._remove_selected,
            "a": self._select_all,
            "c": self.selected.clear,
            "escape": self._close,
        }

    # ---- running -----------------------------------------------------------------------------------------------------

    def run(self, steps: int | None = None) -> str:
        """Run until the world stops, `steps` are made or the window is closed; return why: stopped, steps or closed."""
        last = None if steps is None else self.world.steps + as_whole(steps, "steps", low=0)
        while True:
            # Measured from here, so that handling events and drawing count as part of a frame.
            begin = time.perf_counter()
            if self.window is not None:
                if not self.window.is_open:
                    return "closed"
                self._handle_events()
            if not self.paused:
                reason = self._make_steps(last)
                if reason:
                    self._draw()
                    return reason
            self._draw()
            self._rest(begin)

    def _make_steps(self, last: int | None) -> str:
        """Make the steps of one frame; return why the run ends with it, or ""."""
        for _ in range(self.steps_per_frame):
            if self.world.stopped:
                # Asked before each step of a frame, so that a frame of many steps ends exactly where the world stops.
                return "stopped"
            if last is not None and self.world.steps >= last:
                return "steps"
            self.world.step()
        return ""

    def _rest(self, begin: float) -> None:
        if self.window is not None:
            # One step per frame is the slowest by steps; beyond that frames take longer.
            period = SLOWER**self.slower / self.frame_rate
            time.sleep(max(0.0, begin + period - time.perf_counter()))

    def _draw(self) -> None:
        if self.window is not None and self.window.is_open:
            # In place: the key `c` is bound to this very list.
            self.selected[:] = [agent for agent in self.selected if agent.is_alive]
            self.window.show(self.world, self._lines(), self.selected)

    def _lines(self) -> list[str]:
        """Return what is written over the picture."""
        speed = f"{self.steps_per_frame}x" if not self.slower else f"1/{SLOWER**self.slower:.1f}x"
        state = "paused" if self.paused else speed
        steps = self.world.steps - self._counted_from
        recording = ["recording"] if self._recorder is not None and not self._recorder.closed else []
        lines = [f"step {steps}   {self.world.time:.2f} s   {' '.join([state, *recording])}"]
        if self.shows_metrics:
            lines += [f"{metric.name} {metric.value:.4g}" for metric in self.world.metrics]
        lines += [f"{agent!r} ({agent.x_pos:.2f}, {agent.y_pos:.2f})" for agent in self.selected[:3]]
        return lines

    # ---- what keys do ------------------------------------------------------------------------------------------------

    def _handle_events(self) -> None:
        assert self.window is not None
        for event in self.window.events():
            if event.kind == "click":
                self._select(np.array(event.point))
            # Keys that steer an agent do nothing else.
            elif event.key in self._keys and event.key not in steering_keys(self.world):
                self._keys[event.key]()

    def _toggle(self) -> None:
        self.paused = not self.paused

    def _step_once(self) -> None:
        if self.paused and not self.world.stopped:
            # While it runs, the key means nothing: a step more among hundreds is none that a user asked for.
            self.world.step()

    def _faster(self) -> None:
        if self.slower:
            self.slower -= 1
        else:
            self.steps_per_frame = min(2 * self.steps_per_frame, MOST_STEPS_PER_FRAME)

    def _slow_down(self) -> None:
        if self.steps_per_frame > 1:
            self.steps_per_frame //= 2
        else:
            self.slower = min(self.slower + 1, MOST_SLOWER)

    def _count_anew(self) -> None:
        self._counted_from = self.world.steps

    def _start_again(self) -> None:
        # The world knows its own start; steps counted from elsewhere would be negative after that.
        self.world.reset()
        self._counted_from = 0

    def _toggle_metrics(self) -> None:
        self.shows_metrics = not self.shows_metrics

    def _record(self) -> None:
        """Begin a GIF in the present folder, or end the one that is being recorded."""
        if self._recorder is not None and not self._recorder.closed:
            self._recorder.close()
            return
        duration, every, time_per_frame = self._gif
        path = Path(f"world_{self.world.steps}.gif")
        self._recorder = GifRecorder(path, self.world.steps + duration, every, time_per_frame)
        self.world.subscribers.append(self._recorder)

    def _select(self, point: np.ndarray) -> None:
        """Select the agent or object nearest to `point`, or let go of it."""
        members = [*self.world.population, *self.world.objects]
        # A click inside of a large agent is nearer to it than to a small one beside it.
        gaps = [float(np.hypot(*(member.position - point))) - member.radius for member in members]
        if gaps and min(gaps) <= REACH:
            nearest = members[int(np.argmin(gaps))]
            if nearest in self.selected:
                self.selected.remove(nearest)
            else:
                self.selected.append(nearest)

    def _close(self) -> None:
        if self.window is not None:
            self.window.close()

    def _select_all(self) -> None:
        self.selected[:] = self.world.population

    def _remove_selected(self) -> None:
        self.world.remove(self.selected)
        self.selected.clear()


def steering_keys(world: RectangularWorld) -> set[str]:
    """Return the keys by which agents of `world` are steered: these mean nothing else there."""
    controllers = [group.controller for group in world.groups if len(group)]
    return {
        key for controller in controllers if isinstance(controller, HumanController) for key in controller.used_keys
    }


WindowMaker = Callable[[RectangularWorld], Window]
"""What opens a window for a world, such as a class of windows."""

WINDOWS: Registry[WindowMaker] = Registry(
    "window", Fit("a function of a world", callable), group="fleet_sim.swarm.window"
)
"""What opens windows, by toolkit. Windows lie above worlds, so each is an entry point of its distribution."""

DEFAULT_WINDOW = "tk"


def main(
    world_config: RectangularWorld | WorldConfig | Mapping[str, Any] | str | Path,
    show_gui: bool = True,
    gui: Window | WindowMaker | None = None,
    stop_detection: Callable[[RectangularWorld], Any] | None = None,
    subscribers: Iterable[Any] = (),
    save_duration: int = 1200,
    save_every_ith_frame: int = 3,
    save_time_per_frame: int = 50,
    step_size: int = 1,
    start_paused: bool = False,
    framerate_limit: float = 200.0,
    steps: int | None = None,
) -> RectangularWorld:
    """Run a world and return it as it is at the end: where it stops, after `steps`, or when the window is closed.

    `world_config` is a file, a mapping, a WorldConfig or a world; what is not set up yet is set up. With `show_gui` it
    is shown in a window: `gui`, or what `gui` makes of the world, or by default one of the toolkit `DEFAULT_WINDOW`.
    `stop_detection(world)` is asked after each step of this run. `subscribers` are added to those of the configuration
    and closed at the end. `step_size` steps are made per frame, of which there are at most `framerate_limit` per
    second. `save_*` are for the recording that F4 begins. Raises ConfigError for a wrong configuration, and StateError
    where no window can be opened.
    """
    world = _ready(world_config, subscribers)
    window = None
    if show_gui:
        window = open_window(world, gui) if gui is None or callable(gui) else gui
    gif = (save_duration, save_every_ith_frame, save_time_per_frame)
    paused = start_paused and window is not None
    player = Player(world, window, steps_per_frame=step_size, paused=paused, frame_rate=framerate_limit, gif=gif)
    with ExitStack() as at_the_end:
        # A window that was handed in stays open: it is its owner's to close.
        if window is not None and window is not gui:
            at_the_end.callback(window.close)
        at_the_end.callback(world.close_subscribers)
        at_the_end.enter_context(world.running_until(stop_detection))
        player.run(steps)
    return world


def _ready(
    config: RectangularWorld | WorldConfig | Mapping[str, Any] | str | Path, subscribers: Iterable[Any]
) -> RectangularWorld:
    """Return the world that is meant, set up; see `main`."""
    world = config if isinstance(config, RectangularWorld) else World_from_config(config)
    if not world.is_set_up:
        world.setup()
    world.subscribers += subscribers
    return world


def open_window(world: RectangularWorld, maker: WindowMaker | None = None) -> Window:
    """Return a new window for `world`, made by `maker` or with the toolkit `DEFAULT_WINDOW`.

    Raises StateError where there is no display, or nothing that opens windows.
    """
    if maker is None:
        if DEFAULT_WINDOW not in WINDOWS:
            # The list of entry points is written when a distribution is installed.
            raise StateError("nothing is installed that opens a window: reinstall fleet_sim, pass `gui`, or show none")
        maker = WINDOWS.get(DEFAULT_WINDOW)
    return maker(world)


run_sim = main
"""Another name of it."""
