"""`main`: a world from its configuration to the end of its run, with a window or without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fleet_sim.errors import StateError
from fleet_sim.registry import Fit, Registry
from fleet_sim.swarm.player import Player, Window
from fleet_sim.swarm.world import RectangularWorld, World_from_config
from fleet_sim.swarm.world_config import WorldConfig

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
    config: RectangularWorld | WorldConfig | Mapping[str, Any] | str | Path,
    subscribers: Iterable[Any],
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
