"""The window of PyBullet: its camera, keys, display options, and colliding bodies in color."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, Rows, as_float, as_floats
from fleet_sim.base.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.engines.bullet.client import NO_BODY
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.bullet.shapes import ShapeColor, shape_colors

MODES = ("auto", "manual", "top_down")


_KEYS = ("camera_mode", "camera_view_type", "camera_distance", "camera_yaw", "camera_pitch", "camera_target",
         "camera_auto_scale", "camera_fov")  # fmt: skip


_VIEW_TYPES = ("top_down", "perspective")


# Straight down would leave the yaw of PyBullet's camera undefined.
_DOWN = -89.9


_ROUNDS = 30


_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


Bounds = tuple[Floats, Floats]


@dataclass(frozen=True)
class CameraView:
    """A camera that looks at `target` (m, world) from `distance` m away; angles in degrees, as in PyBullet.

    Yaw 0 looks along +y and grows counter-clockwise; pitch -90 looks straight down. `fov` is the vertical opening
    angle.
    """

    distance: float = 10.0
    yaw: float = 0.0
    pitch: float = -40.0
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    fov: float = 60.0

    def top_down(self) -> CameraView:
        """Return the view of the same target from straight above."""
        return CameraView(self.distance, 0.0, _DOWN, self.target, self.fov)

    def zoomed(self, factor: float) -> CameraView:
        """Return the view from `factor` times the distance."""
        return CameraView(max(0.05, self.distance * factor), self.yaw, self.pitch, self.target, self.fov)


def view_from_config(
    config: Mapping[str, Any], bounds: Bounds | None, framed: tuple[Floats, float] | None = None
) -> CameraView:
    """Return the view described by a camera section.

    `camera_mode` "auto" (default) fits `bounds`, the lower and upper corner (3,), (3,) of the scene, in the
    `camera_view_type` "perspective" (default) or "top_down"; `camera_auto_scale` is the fraction of the image that the
    scene fills. `framed`, points (N, 3) of the scene and the aspect of the image, makes that exact; without it, the
    scene fits in any image that is not upright, and from any side. "manual" uses `camera_distance`, `camera_yaw`,
    `camera_pitch`, `camera_target`. Raises ConfigError.
    """
    for key in config:
        if key not in _KEYS:
            raise ConfigError(f"unknown key.{did_you_mean(str(key), _KEYS)}", path=f"camera.{key}")
    mode = _choice(config, "camera_mode", MODES, "auto")
    fov = _number(config, "camera_fov", 60.0, 1.0, 170.0)
    if mode == "manual":
        return CameraView(
            _number(config, "camera_distance", 10.0, 0.01, 1e6),
            _number(config, "camera_yaw", 0.0, -360.0, 360.0),
            max(_DOWN, _number(config, "camera_pitch", -40.0, -90.0, 90.0)),
            _point(config, "camera_target"),
            fov,
        )
    view_type = "top_down" if mode == "top_down" else "perspective"
    view_type = _choice(config, "camera_view_type", _VIEW_TYPES, view_type)
    yaw = _number(config, "camera_yaw", 45.0, -360.0, 360.0)
    pitch = max(_DOWN, _number(config, "camera_pitch", -40.0, -90.0, 90.0))
    if view_type == "top_down":
        yaw, pitch = 0.0, _DOWN
    share = _number(config, "camera_auto_scale", 0.8, 0.05, 1.0)
    view = CameraView(yaw=yaw, pitch=pitch, fov=fov)
    if bounds is None or not np.isfinite(bounds[0]).all() or not np.isfinite(bounds[1]).all():
        return view
    return _fit_ball(bounds, view, share) if framed is None else _fit_points(*framed, view, share)


def _fit_ball(bounds: Bounds, view: CameraView, share: float) -> CameraView:
    """Return `view` with the distance from which a ball around a box fills `share` of the image, from any side."""
    lower, upper = bounds
    radius = max(0.5, 0.5 * float(np.linalg.norm(upper - lower)))
    distance = radius / share / math.tan(math.radians(0.5 * view.fov))
    x, y, z = (0.5 * (lower + upper)).tolist()
    return replace(view, distance=distance, target=(x, y, z))


def _fit_points(points: Floats, aspect: float, view: CameraView, share: float) -> CameraView:
    """Return `view` with the distance and target from which points are in the middle and fill `share` of the image."""
    centre, corners = _around_the_middle(points)
    right, ahead, up = _axes_of(view)
    steep = share * math.tan(math.radians(0.5 * view.fov))
    depths = corners @ ahead
    distance = max(_distance_of(corners @ right, depths, steep * aspect), _distance_of(corners @ up, depths, steep))
    aside, above = (_middle_of(corners @ axis, depths + distance) for axis in (right, up))
    x, y, z = (centre + aside * right + above * up).tolist()
    return replace(view, distance=distance, target=(x, y, z))


def fitted_all_around(points: Floats, aspect: float, view: CameraView, share: float = 0.8) -> CameraView:
    """Return `view` with the distance and target from which points (N, 3) fill `share` of the image at most.

    That holds for every yaw, with the same distance and target: for a camera that goes around.
    """
    (centre, corners), distance = _around_the_middle(points), 0.0
    steep = share * math.tan(math.radians(0.5 * view.fov))
    for degrees in range(0, 360, 5):
        right, ahead, up = _axes_of(replace(view, yaw=float(degrees)))
        behind = np.maximum(np.abs(corners @ right) / (steep * aspect), np.abs(corners @ up) / steep) - corners @ ahead
        distance = max(distance, float(behind.max()))
    x, y, z = centre.tolist()
    return replace(view, distance=distance, target=(x, y, z))


def _around_the_middle(points: Floats) -> tuple[Floats, Floats]:
    """Return the middle (3,) of points (N, 3), and from there the points and some around it (M, 3)."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    # Half a metre around the middle, too, or the camera would be inside of the only thing that there is.
    return centre, np.concatenate((points - centre, 0.3 * _CORNERS))


def _axes_of(view: CameraView) -> tuple[Floats, Floats, Floats]:
    """Return where right, ahead and up are for a camera."""
    yaw, pitch = math.radians(view.yaw), math.radians(view.pitch)
    right = np.array((math.cos(yaw), math.sin(yaw), 0.0))
    ahead = np.array((-math.cos(pitch) * math.sin(yaw), math.cos(pitch) * math.cos(yaw), math.sin(pitch)))
    return right, ahead, np.cross(right, ahead)


def _distance_of(offsets: Floats, depths: Floats, slope: float) -> float:
    """Return how far back a camera is that sees points (N,) within `slope` on both sides."""
    # The two planes at the edges of the view touch the points from both sides; the camera is where they meet.
    return float(0.5 * ((-offsets - slope * depths).max() + (offsets - slope * depths).max()) / slope)


def _middle_of(offsets: Floats, depths: Floats) -> float:
    """Return where sidewards a camera sees points (N,) `depths` before it as far to one side as to the other."""
    middle = 0.0
    for _ in range(_ROUNDS):
        slopes = (offsets - middle) / depths
        # Near points move more than far ones, so this is not exact at once.
        middle += 0.5 * float(slopes.max() + slopes.min()) * float(depths.min())
    return middle


def _choice(config: Mapping[str, Any], key: str, allowed: tuple[str, ...], default: str) -> str:
    value = config.get(key, default)
    if value not in allowed:
        raise ConfigError(f"expected one of {', '.join(allowed)}, got {value!r}", path=f"camera.{key}")
    return str(value)


def _number(config: Mapping[str, Any], key: str, default: float, low: float, high: float) -> float:
    try:
        return as_float(config.get(key, default), key, low=low, high=high)
    except InvalidValueError as error:
        raise ConfigError(str(error), path=f"camera.{key}") from error


def _point(config: Mapping[str, Any], key: str) -> tuple[float, float, float]:
    try:
        x, y, z = as_floats(config.get(key, (0.0, 0.0, 0.0)), (3,), key).tolist()
    except InvalidValueError as error:
        raise ConfigError(str(error), path=f"camera.{key}") from error
    return x, y, z


# The camera of the window.


def setup_camera(mirror: BulletMirror, config: Mapping[str, Any], bounds: Bounds | None) -> CameraView:
    """Return the view of `config` and apply it to the window, if there is one; raises ConfigError."""
    view = view_from_config(config, bounds)
    if mirror.client.gui:
        show_view(mirror, view)
    return view


def show_view(mirror: BulletMirror, view: CameraView) -> None:
    """Apply `view` to the window."""
    mirror.client.resetDebugVisualizerCamera(view.distance, view.yaw, view.pitch, view.target)


def window_view(mirror: BulletMirror) -> CameraView:
    """Return the present view of the window."""
    camera = mirror.client.getDebugVisualizerCamera()
    return CameraView(float(camera[10]), float(camera[8]), float(camera[9]), tuple(camera[11]))


# Display options of the window: shadows, panels, collision shapes, transparent structures.


TRANSPARENT = 0.3

VISUALIZER_DEFAULTS = {
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
        settings = dict(VISUALIZER_DEFAULTS)
        for key, value in params.items():
            if key not in VISUALIZER_DEFAULTS:
                raise ConfigError(f"unknown key.{did_you_mean(key, VISUALIZER_DEFAULTS)}", path=key)
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


# Maps keys pressed in the window to named actions.


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


# Coloring bodies while they collide.


RED = (1.0, 0.1, 0.1, 1.0)


class Highlight:
    """Shows chosen rows in one color and restores the colors of the others.

    Only existing bodies are colored: with a window all bodies exist; without one only those that were queried. Bodies
    loaded from a model file keep their colors, and so do bodies whose color PyBullet chose.
    """

    def __init__(self, mirror: BulletMirror, color: Sequence[float] | None = None) -> None:
        """`color` is red, green, blue and opacity from 0 to 1; raises InvalidValueError."""
        rgba = as_floats(RED if color is None else color, (4,), "collision_color")
        if rgba.min() < 0.0 or rgba.max() > 1.0:
            raise InvalidValueError(f"collision_color: four numbers from 0 to 1, got {color!r}")
        self.color: list[float] = rgba.tolist()
        self._mirror = mirror
        self.shown: dict[int, int] = {}
        """The bodies that have the color, by row."""
        self._look = 0

    def show(self, rows: Iterable[int]) -> None:
        """Color `rows` and no others."""
        if not self._mirror.client.connected:
            return
        bodies = self._mirror.bodies.table.body
        # A body without a visual shape has nothing to color.
        wanted = {row: int(bodies[row]) for row in rows if bodies[row] != NO_BODY and self._own_color(row)}
        for row, body in self.shown.items():
            # Only the body that was painted: it may have been removed, and its id may be another's now.
            if wanted.get(row) != body and int(bodies[row]) == body:
                self._paint(body, self._own_color(row))
        # A color given meanwhile is written first: otherwise it would cover ours when PyBullet is next asked.
        look = self._mirror.world.look
        self._mirror.bodies.refresh_colors(np.array(list(wanted), np.int64))
        for row, body in wanted.items():
            if self.shown.get(row) != body or self._look != look.version:
                self._paint(body, self.color)
        self.shown, self._look = wanted, look.version

    def _own_color(self, row: int) -> list[float] | None:
        """Return the color of the row's shape, None if it has no visual shape."""
        world = self._mirror.world
        given = world.look.rgba[row]
        if given[0] >= 0.0:
            return list(given)
        shape_id = int(world.shape_id[row])
        visual = world.shapes[shape_id].visual if shape_id >= 0 else None
        return None if visual is None else list(visual.rgba)

    def _paint(self, body: int, color: list[float] | None) -> None:
        if color is not None:
            self._mirror.client.changeVisualShape(body, -1, rgbaColor=color)
