"""Maps keys pressed in the window to named actions."""

from __future__ import annotations

from collections.abc import Callable

from fleet_sim.bullet.camera import show_view, window_view
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.visualizer import Visualizer

KEYS: dict[str, str] = {
    " ": "pause",
    ".": "single_step",
    "v": "visual_shapes",
    "c": "collision_shapes",
    "t": "structure_transparency",
    "o": "top_down",
    "=": "zoom_in",
    "-": "zoom_out",
}
"""Action by key."""

RUNNER_ACTIONS = ("pause", "single_step")
"""Actions handled by the runner; the others only change the view."""

ZOOM = 0.8


class Gui:
    """The window's keyboard. Without a window no key is ever reported."""

    def __init__(self, mirror: BulletMirror, visualizer: Visualizer) -> None:
        """Name what the keys switch: what the `visualizer` shows, and the view of the window."""
        self.mirror = mirror
        self.visualizer = visualizer
        self.held: set[int] = set()
        """The codes of the keys that were down at the last poll."""
        self._actions: dict[str, Callable[[], None]] = {
            "visual_shapes": lambda: visualizer.show_visuals(not visualizer.visuals_shown),
            "collision_shapes": lambda: visualizer.show_collisions(not visualizer.collisions_shown),
            "structure_transparency": lambda: visualizer.make_structures_transparent(
                not visualizer.structures_transparent
            ),
            "top_down": lambda: show_view(mirror, window_view(mirror).top_down()),
            "zoom_in": lambda: show_view(mirror, window_view(mirror).zoomed(ZOOM)),
            "zoom_out": lambda: show_view(mirror, window_view(mirror).zoomed(1.0 / ZOOM)),
        }

    @property
    def open(self) -> bool:
        """Whether the window is open; False after the user closed it."""
        client = self.mirror.client
        # Closing the window ends the connection, and asking PyBullet for keys then would raise.
        return client.gui and client.connected and bool(client.module.isConnected(client.id))

    def poll(self) -> list[str]:
        """Return the actions whose keys were pressed since the last poll, in a fixed order; none without a window."""
        if not self.open:
            return []
        client = self.mirror.client
        events = client.getKeyboardEvents()
        return [action for key, action in KEYS.items() if self._went_down(ord(key), events.get(ord(key), 0))]

    def _went_down(self, key: int, state: int) -> bool:
        """Return whether `key` was pressed; PyBullet may report a short tap only as released."""
        client = self.mirror.client
        released = bool(state & client.KEY_WAS_RELEASED)
        pressed = bool(state & client.KEY_WAS_TRIGGERED) or (released and key not in self.held)
        # Released and down: it was pressed again since, and will be released once more.
        if state & client.KEY_IS_DOWN:
            self.held.add(key)
        elif released:
            self.held.discard(key)
        return pressed

    def apply(self, action: str) -> bool:
        """Execute `action` if it changes the view; return False for actions of the runner."""
        run = self._actions.get(action)
        if run is None:
            return False
        run()
        return True
