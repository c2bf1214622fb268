"""PyBullet as users see it, the window, and figures about the run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from fleet_sim.bullet.camera import CameraView, Picture, render, view_from_config
from fleet_sim.bullet.camera import setup_camera as place_camera
from fleet_sim.bullet.visualizer import visualizer_keys
from fleet_sim.config.params import CameraParams
from fleet_sim.facade.base import SimulationParts
from fleet_sim.facade.collisions import scene_bounds


class ViewFacade(SimulationParts):
    """PyBullet's view of the world; profiling and memory."""

    _camera_placed = False
    _window_prepared = False

    @property
    def client(self) -> int:
        """The PyBullet client id, for pybullet's own functions.

        Asking for it makes PyBullet keep up with every step from then on, since such calls cannot be seen coming.
        Prefer `sim.bullet`, which has every pybullet function and brings up to date only when one is called.
        """
        return self._mirror.hand_out()

    def setup_pybullet(self) -> int:
        """Connect to PyBullet now, opening the window in GUI mode; returns the client id."""
        self._client.connect()
        return self._mirror.hand_out() if self.params.gui else self._client.id

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before PyBullet is first needed."""
        return self._client.floor_id

    def setup_camera(self, camera_config: Mapping[str, Any] | CameraParams | None = None) -> CameraView:
        """Point the window's camera as `camera_config` says (None: `params.camera_config`) and return the view.

        The mode "auto" frames what is in the world now. Without a window the view is only returned. Raises ConfigError.
        """
        config = self.params.camera_config if camera_config is None else camera_config
        mapping = vars(config) if isinstance(config, CameraParams) else config
        bounds = scene_bounds(self.world) if len(self.world) else None
        self._camera_placed = True
        return place_camera(self._mirror, mapping, bounds)

    def take_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Picture:
        """Return a picture of the world (colours, depth in m, rows), without a window or a GPU.

        `camera_config` is as in `setup_camera`. `fleet_sim.images.write_png` saves the colours.
        """
        config = self.params.camera_config if camera_config is None else camera_config
        mapping = vars(config) if isinstance(config, CameraParams) else config
        bounds = scene_bounds(self.world) if len(self.world) else None
        return render(self._mirror, width, height, view_from_config(mapping, bounds))

    def configure_visualizer(self, **settings: bool) -> None:
        """Apply the settings of the window: shadows, panels, collision shapes, see-through static bodies.

        `settings` are `enable_shadows`, `enable_gui_panel`, `enable_collision_shapes` and
        `enable_structure_transparency`; those not given are as in `params`. Raises ConfigError.
        """
        chosen = {name: getattr(self.params, name) for name in visualizer_keys()}
        self._visualizer.configure({**chosen, **settings}, self._structures())

    def _prepare_window(self) -> None:
        """Before the first step: look at what is in the world by now."""
        self._window_prepared = True
        self._visualizer.set_structures(self._structures())
        if not self._camera_placed:
            self.setup_camera()

    def disable_rendering(self) -> None:
        """Stop drawing the window, for faster changes to the world; nothing without a window."""
        self._draw(False)

    def enable_rendering(self) -> None:
        """Draw the window again."""
        self._draw(True)

    def _draw(self, shown: bool) -> None:
        client = self._client
        if client.gui:
            client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, int(shown))

    # ---- figures -----------------------------------------------------------------------------------------------------

    @property
    def last_profiling(self) -> dict[str, Any]:
        """The profile of the last step; see `get_profiling_stats`."""
        return self.get_profiling_stats()

    def get_profiling_stats(self) -> dict[str, Any]:
        """Return what the last step cost, in ms: documented keys, `systems`, `collision_breakdown`, own entries."""
        self.profiler.collision_breakdown = self.collisions.breakdown
        return self.profiler.stats()

    def record_profiling(self, name: str, value_ms: float) -> None:
        """Add an entry of one's own to the profile."""
        self.profiler.record(name, value_ms)

    def get_memory_usage(self) -> dict[str, float]:
        """Return the process's peak memory (nan where the platform does not tell) and the columns' size, in MB."""
        tables = {id(table): table for table in self.world.tables.values()}
        return {
            "peak_rss_mb": _peak_memory(),
            "columns_mb": sum(table.nbytes for table in tables.values()) / 1024.0**2,
        }


def _peak_memory() -> float:
    """Return the most memory this process has held so far, in MB; nan where the platform does not tell."""
    try:
        import resource
    except ImportError:
        # Windows has no such module, and the rest of the library does without.
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)
