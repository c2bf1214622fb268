"""A window for swarm worlds, with tkinter from the standard library."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import StateError
from fleet_sim.base.monitor import window_hindrance
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.canvas import Color
from fleet_sim.swarm.pictures import Viewport
from fleet_sim.swarm.simulate import HELP, Event
from fleet_sim.swarm.world import RectangularWorld

SIZE = 720
"""Length of the longer side of the world's picture, in pixels."""

ZOOM = 1.15
"""Zoom factor per step of the mouse wheel."""
RELEASE = 40
"""Delay in ms after which a KeyRelease counts. With key repeat, X11 sends release and press pairs for a held key."""

DRAG = 4
"""Distance in pixels that the mouse may move during a click; beyond it the click is a drag."""

MARK: Color = (230, 60, 30)


class SwarmWindow:
    """Shows a world. The mouse wheel zooms, dragging moves the picture, KP_0 shows the whole world again."""

    def __init__(self, world: RectangularWorld, title: str = "fleet_sim swarm") -> None:
        """Open the window; raises StateError without a display or without tkinter."""
        hindrance = window_hindrance()
        if hindrance:
            raise StateError(f"no window can be opened: {hindrance}; run without one")
        # Debian and Ubuntu leave it out of Python; the class must be found without it, so that it can say so.
        import tkinter

        try:
            self._root: Any = tkinter.Tk()
        except tkinter.TclError as error:
            raise StateError(f"no window can be opened: {error}; run without one") from error
        self._root.title(title)
        self._world = world
        width, height = (world.size / world.size.max() * SIZE).round().astype(int).tolist()
        self._viewport = Viewport(world, max(width, 200), max(height, 200))
        self._surface: Any = tkinter.Canvas(
            self._root, width=self._viewport.width, height=self._viewport.height, highlightthickness=0
        )
        self._surface.pack(fill="both", expand=True)
        tkinter.Label(self._root, text="\n".join(HELP), justify="left", fg="#666666", font=("TkDefaultFont", 8)).pack()
        self._canvas = TkCanvas(self._surface, self._viewport)
        self._events: list[Event] = []
        self._releases: dict[str, str] = {}
        self._dragged_from: tuple[int, int] | None = None
        self._moved = False
        self._open = True
        self._bind()

    def _bind(self) -> None:
        self._root.protocol("WM_DELETE_WINDOW", self.close)
        self._root.bind("<KeyPress>", self._key_down)
        self._root.bind("<KeyRelease>", self._key_up)
        # Without focus the window gets no KeyRelease, so held keys would stay pressed.
        self._root.bind("<FocusOut>", lambda event: self._world.release_all_keys())
        surface = self._surface
        surface.bind("<ButtonPress-1>", self._press)
        surface.bind("<B1-Motion>", self._drag)
        surface.bind("<ButtonRelease-1>", self._release)
        # Windows and macOS send MouseWheel; X11 sends the wheel as buttons 4 and 5.
        surface.bind("<MouseWheel>", lambda event: self._zoom(event, event.delta > 0))
        surface.bind("<Button-4>", lambda event: self._zoom(event, True))
        surface.bind("<Button-5>", lambda event: self._zoom(event, False))
        surface.bind("<Configure>", self._resize)
        surface.focus_set()

    # ---- the interface of a player's window --------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the window is open."""
        return self._open

    def events(self) -> list[Event]:
        """Return the user's events since the last call; held keys are set in the world."""
        if self._open:
            # Runs the handlers that fill `_events`; there is no main loop.
            self._root.update()
        events, self._events = self._events, []
        return events

    def show(self, world: RectangularWorld, lines: list[str], selected: list[SwarmAgent]) -> None:
        """Draw the world, lines of text, and marks around the selected agents."""
        world.draw(self._canvas)
        for agent in selected:
            self._canvas.circle(agent.position, 1.3 * agent.radius, outline=MARK)
        self._canvas.text(lines, (20, 20, 20) if sum(world.config.background_color) > 380 else (235, 235, 235))
        self._root.update_idletasks()

    def close(self) -> None:
        """Close the window; may be called again."""
        if self._open:
            self._open = False
            self._world.release_all_keys()
            self._root.destroy()

    # ---- keys --------------------------------------------------------------------------------------------------------

    def _key_down(self, event: Any) -> None:
        key = str(event.keysym).lower()
        # A press soon after a release is key repeat: the key was held all the time.
        pending = self._releases.pop(key, None)
        if pending is not None:
            self._root.after_cancel(pending)
        if key in ("kp_0", "kp_insert", "0"):
            self._viewport = Viewport(self._world, self._viewport.width, self._viewport.height)
            self._canvas.viewport = self._viewport
        self._world.press_key(key)
        self._events.append(Event("key", key))

    def _key_up(self, event: Any) -> None:
        key = str(event.keysym).lower()
        self._releases[key] = self._root.after(RELEASE, lambda: self._lifted(key))

    def _lifted(self, key: str) -> None:
        self._releases.pop(key, None)
        self._world.release_key(key)

    # ---- mouse -------------------------------------------------------------------------------------------------------

    def _press(self, event: Any) -> None:
        self._dragged_from = (event.x, event.y)

    def _drag(self, event: Any) -> None:
        if self._dragged_from is None:
            return
        x, y = self._dragged_from
        if abs(event.x - x) + abs(event.y - y) > DRAG:
            self._viewport.center = self._viewport.center - np.array([event.x - x, y - event.y]) / self._viewport.scale
            self._dragged_from = (event.x, event.y)
            self._moved = True

    def _release(self, event: Any) -> None:
        if not self._moved:
            x, y = self._viewport.point(event.x, event.y).tolist()
            self._events.append(Event("click", point=(x, y)))
        self._moved, self._dragged_from = False, None

    def _zoom(self, event: Any, closer: bool) -> None:
        """Zoom about the mouse: the point below it does not move."""
        before = self._viewport.point(event.x, event.y)
        self._viewport.scale *= ZOOM if closer else 1.0 / ZOOM
        self._viewport.center = self._viewport.center + before - self._viewport.point(event.x, event.y)

    def _resize(self, event: Any) -> None:
        share = min(event.width / self._viewport.width, event.height / self._viewport.height)
        self._viewport.scale *= share
        self._viewport.width, self._viewport.height = event.width, event.height


class TkCanvas:
    """A canvas in a window."""

    def __init__(self, surface: Any, viewport: Viewport) -> None:
        self._surface = surface
        self.viewport = viewport

    def _at(self, points: Floats) -> list[float]:
        flat: list[float] = self.viewport.pixels(points).ravel().tolist()
        return flat

    def clear(self, color: Color) -> None:
        """Clear the canvas with one color."""
        self._surface.delete("all")
        self._surface.configure(background=_hex(color))

    def polygon(self, points: Floats, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a closed polygon."""
        self._surface.create_polygon(self._at(points), fill=_hex(fill), outline=_hex(outline))

    def circle(self, centre: Floats, radius: float, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a circle."""
        x, y = self._at(centre[None])
        size = max(radius * self.viewport.scale, 2.0)
        self._surface.create_oval(x - size, y - size, x + size, y + size, fill=_hex(fill), outline=_hex(outline))

    def line(self, points: Floats, color: Color) -> None:
        """Draw an open line."""
        self._surface.create_line(self._at(points), fill=_hex(color))

    def text(self, lines: list[str], color: Color) -> None:
        """Write lines in the upper left corner."""
        self._surface.create_text(8, 6, anchor="nw", text="\n".join(lines), fill=_hex(color))


def _hex(color: Color | None) -> str:
    return "" if color is None else "#{:02x}{:02x}{:02x}".format(*color)
