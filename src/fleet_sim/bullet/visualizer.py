"""Display options of the window: shadows, panels, collision shapes, transparent structures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.told_shapes import ShapeColor, shape_colors
from fleet_sim.errors import ConfigError, did_you_mean

TRANSPARENT = 0.3

_DEFAULTS = {
    "enable_shadows": True,
    "enable_gui_panel": False,
    "enable_collision_shapes": False,
    "enable_structure_transparency": False,
}


class Visualizer:
    """Display options of a world's window. Without a window, changes are stored but have no effect.

    `structures` are the rows that become transparent together: walls, shelves, floors. Only the drawing changes; the
    colors of shapes stay as they are.
    """

    def __init__(self, mirror: BulletMirror) -> None:
        self.mirror = mirror
        self.visuals_shown = True
        self.collisions_shown = False
        self.structures_transparent = False
        self._structures: Rows = np.empty(0, np.int64)
        self._colors: dict[tuple[int, int], list[ShapeColor]] = {}
        """Colors of faded bodies by (epoch, object id)."""

    def configure(self, params: Mapping[str, bool], structures: Rows | None = None) -> None:
        """Apply `enable_shadows`, `enable_gui_panel`, `enable_collision_shapes`, `enable_structure_transparency`.

        Missing keys get their defaults. Raises ConfigError for unknown keys and values that are not bool.
        """
        settings = dict(_DEFAULTS)
        for key, value in params.items():
            if key not in _DEFAULTS:
                raise ConfigError(f"unknown key.{did_you_mean(key, _DEFAULTS)}", path=key)
            if not isinstance(value, (bool, np.bool_)):
                raise ConfigError(f"expected true or false, got {value!r}", path=key)
            settings[key] = bool(value)
        if structures is not None:
            self._structures = np.asarray(structures, np.int64)
        client = self.mirror.client
        if client.gui:
            # PyBullet's own shortcuts use the same letters as ours.
            client.configureDebugVisualizer(client.COV_ENABLE_KEYBOARD_SHORTCUTS, 0)
            client.configureDebugVisualizer(client.COV_ENABLE_SHADOWS, int(settings["enable_shadows"]))
            client.configureDebugVisualizer(client.COV_ENABLE_GUI, int(settings["enable_gui_panel"]))
        self.show_collisions(settings["enable_collision_shapes"])
        self.make_structures_transparent(settings["enable_structure_transparency"])

    def show_collisions(self, shown: bool) -> None:
        """Draw collision shapes as wireframes, or bodies as solids again."""
        self.collisions_shown = shown
        client = self.mirror.client
        if client.gui:
            client.configureDebugVisualizer(client.COV_ENABLE_WIREFRAME, int(shown))

    def show_visuals(self, shown: bool) -> None:
        """Show or hide the visual shapes of all entities."""
        self.visuals_shown = shown
        self._recolor(self.mirror.world.rows)

    def make_structures_transparent(self, transparent: bool) -> None:
        """Make the structures transparent, or opaque again."""
        self.structures_transparent = transparent
        self._recolor(self._structures)

    def set_structures(self, rows: Rows) -> None:
        """Set the rows that are structures."""
        before, self._structures = self._structures, np.asarray(rows, np.int64)
        self._recolor(np.union1d(before, self._structures))

    def _recolor(self, rows: Rows) -> None:
        """Draw `rows` with the transparency that is asked for now; removed rows are left out.

        Only structures become transparent, and where visual shapes are hidden everything is. Nothing happens without a
        window.
        """
        mirror = self.mirror
        if not mirror.client.gui or not len(rows):
            return
        # Structures may have been removed since they were named.
        rows = rows[mirror.world.alive[rows]]
        mirror.ensure(rows)
        # Drawing pauses: the window would else redraw for each body.
        structure_mask = np.isin(rows, self._structures)
        with mirror.client.quiet():
            for row, is_structure in zip(rows.tolist(), structure_mask.tolist(), strict=True):
                body = int(mirror.bodies.table.body[row])
                if not mirror.own_shapes.has_color(body) and not mirror.world.look.painted_mask(np.array([row]))[0]:
                    continue
                alpha = TRANSPARENT if is_structure and self.structures_transparent else 1.0
                self._fade(row, alpha if self.visuals_shown else 0.0)

    def _fade(self, row: int, alpha: float) -> None:
        """Draw a body with its own colors, each with `alpha` times its own opacity."""
        client = self.mirror.client
        body = int(self.mirror.bodies.table.body[row])
        key = (client.epoch, int(self.mirror.world.object_id[row]))
        colors = self._colors.get(key)
        if colors is None:
            if alpha == 1.0:
                return
            colors = self._colors[key] = shape_colors(client, body)
        for link, index, color in colors:
            faded = (*color[:3], color[3] * alpha)
            client.changeVisualShape(body, link, shapeIndex=index, rgbaColor=faded)
        # Forgotten, so that colors given later are what the next fading begins from.
        if alpha == 1.0:
            del self._colors[key]


def visualizer_keys() -> dict[str, Any]:
    """Return the settings `Visualizer.configure` knows, with their defaults."""
    return dict(_DEFAULTS)
