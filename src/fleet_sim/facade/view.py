"""What users see of a simulation: PyBullet's window, images, and live views."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Rows
from fleet_sim.bullet.camera import Picture, render
from fleet_sim.bullet.camera import setup_camera as place_camera
from fleet_sim.bullet.camera_view import CameraView, fitted_all_around, view_from_config
from fleet_sim.bullet.gui import Gui
from fleet_sim.bullet.highlight import Highlight
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.visualizer import Visualizer, visualizer_keys
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.modes import CollisionMode
from fleet_sim.config.params import CameraParams, SimulationParams
from fleet_sim.config.view_params import ViewParams
from fleet_sim.core.world import World
from fleet_sim.facade.collisions import scene_bounds, scene_corners
from fleet_sim.facade.drawing import SMOOTH, Painter, check_size
from fleet_sim.facade.live import LiveView, open_view
from fleet_sim.settings import read


class View:
    """The display of the world: in PyBullet's window, in images, and live in a browser (`show`)."""

    def __init__(
        self,
        params: SimulationParams,
        world: World,
        mirror: BulletMirror,
        collisions: CollisionSystem,
        owner: object,
        collision_color: Any = None,
    ) -> None:
        self._params, self._owner = params, owner
        self._world, self._mirror, self._collisions = world, mirror, collisions
        self._highlight = Highlight(mirror, collision_color)
        self._visualizer = Visualizer(mirror)
        self._gui = Gui(mirror, self._visualizer)
        self._camera_placed = False
        self._prepared = False

    # ---- live --------------------------------------------------------------------------------------------------------

    def show(self, **settings: Any) -> LiveView:
        """Open a page that shows the simulation live, and return it; its `url` is to be opened in a browser.

        `settings` are those of ViewParams. The page ends with the simulation, or with its `close`. In a notebook, the
        returned object shows the page. Raises ConfigError, MissingDependencyError without the extra `view`.
        """
        return open_view(self._owner, self._world.events, read(ViewParams, settings))

    # ---- PyBullet ----------------------------------------------------------------------------------------------------

    @property
    def keeps_up(self) -> bool:
        """Whether each step writes poses into the engine, because somebody may look at it without asking."""
        return self._mirror.keeps_up

    @property
    def client_id(self) -> int:
        """The PyBullet client id; after reading it, PyBullet is updated in every step."""
        return self._mirror.hand_out()

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before the first use of PyBullet."""
        return self._mirror.client.floor_id

    @property
    def connected(self) -> bool:
        """Whether PyBullet has been used."""
        return self._mirror.client.connected

    def connect(self) -> int:
        """Connect to PyBullet now, opening the window if enabled; return the client id."""
        return self._mirror.hand_out()

    # ---- the camera --------------------------------------------------------------------------------------------------

    def setup_camera(self, camera_config: Mapping[str, Any] | CameraParams | None = None) -> CameraView:
        """Set the window's camera to `camera_config` (None: as set) and return the view; raises ConfigError."""
        self._camera_placed = True
        return place_camera(self._mirror, self._camera_settings(camera_config), self._scene_bounds())

    def take_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Picture:
        """Return an image of the world (colors, depth in m, rows); needs no window and no GPU."""
        view = view_from_config(self._camera_settings(camera_config), self._scene_bounds())
        # TinyRenderer's shadow map covers the middle of a scene only: all beyond its edge would be dark.
        return render(self._mirror, width, height, view, shadow=False)

    def draw_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Bytes:
        """Return colors (height, width, 3) of a smooth picture with shadows, see `drawing.Painter`."""
        with self.painter(width, height) as painter:
            return painter.draw(self.framed(width, height, camera_config))

    def framed(
        self,
        width: int,
        height: int,
        camera_config: Mapping[str, Any] | CameraParams | None = None,
        places: Floats | None = None,
        *,
        all_around: bool = False,
    ) -> CameraView:
        """Return the view of `camera_config` (None: as set) for pictures of a size; raises ConfigError.

        `places` (K, 3) are to be seen too, besides the bodies. With `all_around`, all of it is seen at any yaw.
        """
        corners = scene_corners(self._world)
        if places is not None and len(places):
            corners = np.concatenate((corners, places)) if len(self._world) else places
        bounds = corners.min(axis=0), corners.max(axis=0)
        view = view_from_config(self._camera_settings(camera_config), bounds, (corners, width / height))
        return fitted_all_around(corners, width / height, view) if all_around and len(corners) else view

    def painter(self, width: int, height: int, smooth: int = SMOOTH) -> Painter:
        """Return what draws smooth pictures of a size with shadows, one after the other; raises InvalidValueError."""
        check_size(width, height)
        return Painter(self._mirror, width, height, smooth)

    def _camera_settings(self, config: Mapping[str, Any] | CameraParams | None) -> Mapping[str, Any]:
        chosen = self._params.camera_config if config is None else config
        return vars(chosen) if isinstance(chosen, CameraParams) else chosen

    def _scene_bounds(self) -> tuple[Floats, Floats] | None:
        return scene_bounds(self._world) if len(self._world) else None

    # ---- the window --------------------------------------------------------------------------------------------------

    def configure(self, **settings: bool) -> None:
        """Apply settings of the window; missing ones are taken from the params. Raises ConfigError."""
        chosen = {name: getattr(self._params, name) for name in visualizer_keys()}
        self._visualizer.configure({**chosen, **settings}, self._structures())

    def prepare(self) -> None:
        """Before the first step, if there is a window: set the camera and structures for the present world."""
        if self._prepared or not self._params.gui:
            return
        self._prepared = True
        self._visualizer.set_structures(self._structures())
        # A camera that the user placed stays where it is.
        if not self._camera_placed:
            self.setup_camera()

    def draw(self, shown: bool) -> None:
        """Switch drawing of the window on or off; without a window it has no effect."""
        client = self._mirror.client
        if client.gui:
            client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, int(shown))

    def quiet(self) -> AbstractContextManager[None]:
        """Suspend drawing of the window until the end of the block."""
        return self._mirror.client.quiet()

    def colors_collisions(self) -> bool:
        """Return whether bodies that collide are colored, or some still are."""
        return self._params.enable_collision_color_change or self._highlight.is_shown

    def show_collisions(self) -> None:
        """Color bodies while they collide, if the settings enable it; else give back the colors of colored ones."""
        if self._params.enable_collision_color_change:
            self._highlight.show(np.unique(self._collisions.pairs).tolist())
        elif self._highlight.is_shown:
            self._highlight.show([])

    @property
    def is_open(self) -> bool:
        """Whether the window is open."""
        return self._gui.open

    def poll_keys(self) -> list[str]:
        """Return the actions whose keys were pressed since the last poll."""
        return self._gui.poll()

    def apply_key(self, action: str) -> None:
        """Execute an action that changes the view."""
        self._visualizer.set_structures(self._structures())
        self._gui.apply(action)

    def _structures(self) -> Rows:
        """Return the rows of static entities."""
        world = self._world
        static: Rows = world.rows[world.collision_mode[world.rows] == CollisionMode.STATIC.code]
        return static
