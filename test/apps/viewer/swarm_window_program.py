"""A swarm world in a window, with hands at keys and mouse: the program that test_swarm_window.py runs.

It is a process of its own because the toolkit ends its process when its display goes away.
"""

from __future__ import annotations

import faulthandler
import subprocess
import sys

from fleet_sim.swarm import simulate
from fleet_sim.swarm.simulate import Event, Player, Window
from fleet_sim.swarm.world import RectangularWorld

METRE = 720 * 0.94 / 4
"""Pixels: the window shows four metres on 720, less 3 % at both sides."""


def hands(*command: str) -> None:
    """Let xdotool do something."""
    subprocess.run(["xdotool", *command], check=True, stderr=subprocess.DEVNULL)


def await_events(window: Window) -> list[Event]:
    """Serve the window until something was done in it."""
    events: list[Event] = []
    while not events:
        events = window.events()
    return events


def await_keys(world: RectangularWorld, window: Window, keys: set[str]) -> None:
    """Serve the window until just `keys` are held."""
    while world.keys != keys:
        window.events()


def events(world: RectangularWorld, window: Window) -> None:
    """Keys and clicks arrive."""
    for name, key in (("space", "space"), ("Right", "right"), ("F4", "f4"), ("Shift_R", "shift_r")):
        hands("key", name)
        assert Event("key", key) in await_events(window)
    hands("click", "1")
    (click,) = await_events(window)
    # The window stands in the corner of the screen, and so does the mouse.
    wanted = (2 + (200 - 360) / METRE, 2 - (200 - 360) / METRE)
    assert click.kind == "click"
    assert all(abs(have - want) < 0.03 for have, want in zip(click.point, wanted, strict=True)), click


def held(world: RectangularWorld, window: Window) -> None:
    """Keys that are held are known to the world."""
    hands("keydown", "w")
    await_keys(world, window, {"w"})
    hands("keydown", "a")
    await_keys(world, window, {"w", "a"})
    hands("keyup", "w")
    await_keys(world, window, {"a"})
    hands("keyup", "a")
    await_keys(world, window, set())


def closing(world: RectangularWorld, window: Window) -> None:
    """Closing the window ends the run."""
    world.subscribers.append(lambda world: window.close() if world.steps == 5 else None)
    assert Player(world, window, frame_rate=1000.0).run() == "closed"
    assert world.steps == 5 and not window.is_open
    window.close()


def main(name: str) -> None:
    """Show a world and do what is called `name`."""
    faulthandler.dump_traceback_later(60.0, exit=True)
    agent = {"type": "MazeAgent", "agent_radius": 0.5, "position": [2, 2]}
    world = RectangularWorld({"size": [4, 4], "agents": [agent]})
    world.setup()
    window = simulate.open_window(world)
    window.show(world, ["a line"], world.population)
    hands("mousemove", "200", "200")
    {"events": events, "held": held, "closing": closing}[name](world, window)
    window.close()


if __name__ == "__main__":
    main(sys.argv[1])
