"""BaseGymEnv: an environment around a scene with robots and a camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from fleet_sim.bullet.handle import BulletHandle
from fleet_sim.config.modes import EngineChoice
from fleet_sim.envs.episode import begun
from fleet_sim.envs.single import check_render_mode
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.manipulation.camera import Camera
from fleet_sim.manipulation.config import BinPickingConfig
from fleet_sim.manipulation.franka_arm import FrankaArm
from fleet_sim.manipulation.loading import as_mapping, load_bin_picking
from fleet_sim.manipulation.scenes import BinScene, picking_params
from fleet_sim.simulation import MultiRobotSimulationCore

Config = str | Path | Mapping[str, Any] | BinPickingConfig | None


class Termination(NamedTuple):
    """Whether an episode has ended, and an info dictionary; as a truth value it is the first of them."""

    ended: bool
    info: dict[str, Any]

    def __bool__(self) -> bool:
        return self.ended


class BaseGymEnv(gym.Env[Any, Any]):
    """Base class of environments with a scene.

    A subclass defines `set_space_attributes`, `get_state`, `get_reward`, `check_termination` and `step`. The robots are
    in `robots`. The scene is loaded by the first `reset`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as the base class has it
        "render_modes": ["human", "rgb_array", "rgb_and_depth", "rgb_and_depth_arrays"],
        "render_fps": 10,
    }
    scene_modes: ClassVar[dict[str, type[BinScene]]] = {"bin-scene": BinScene}
    """Scenes by mode, as in the setting `scene.mode`."""

    def __init__(
        self, config_file: Config = None, render_mode: str | None = None, engine: EngineChoice | None = None
    ) -> None:
        """Read the settings: a YAML file, a mapping, or the defaults. Raises ConfigError.

        Without `render_mode` or `engine`, those of the settings are used.
        """
        check_render_mode(render_mode, self.metadata["render_modes"])
        config = self.configure(config_file)
        # The mode asks for a window, whatever the settings say.
        if render_mode == "human":
            config = replace(config, simulation=replace(config.simulation, sim_mode="gpu-gui"))
        if engine is not None:
            config = replace(config, simulation=replace(config.simulation, engine=engine))
        self.config = config.in_use("an environment")
        self.render_mode = render_mode or self.config.simulation.render_mode
        self.reward_range = (-float("inf"), float("inf"))
        self.robots: list[FrankaArm] = []
        self.sim: MultiRobotSimulationCore | None = None
        self.scene: BinScene | None = None
        self.camera: Camera | None = None
        self.set_space_attributes()

    # ---- to override -------------------------------------------------------------------------------------------------

    def set_space_attributes(self) -> None:
        """Set `observation_space`, `action_space` and `reward_range`."""
        raise NotImplementedError

    def get_state(self) -> Any:
        """Return the observation of the current state."""
        raise NotImplementedError

    def get_reward(self, info: dict[str, Any] | None = None) -> float:
        """Return the reward of the last step; `info` is that of `check_termination`, by default of its last call."""
        raise NotImplementedError

    def check_termination(self) -> Termination | tuple[bool, dict[str, Any]]:
        """Return whether the episode has ended, and an info dictionary."""
        raise NotImplementedError

    # ---- the scene ---------------------------------------------------------------------------------------------------

    def configure(self, config_file: Config) -> BinPickingConfig:
        """Return the settings in `config_file`; raises ConfigError."""
        return load_bin_picking(config_file)

    @property
    def bullet_client(self) -> BulletHandle | None:
        """PyBullet's functions for this environment, `sim.bullet`; None before the first reset and after `close`."""
        return None if self.sim is None else self.sim.bullet

    @property
    def config_file(self) -> dict[str, Any]:
        """All settings in use as a dictionary whose keys have hyphens, a copy; `config` holds them as objects."""
        return as_mapping(self.config)

    def initialize_client(self) -> tuple[MultiRobotSimulationCore, None]:
        """Create the simulation of the scene. No renderer needs a plugin, so the second value is None."""
        self.sim = MultiRobotSimulationCore(picking_params(self.config))
        return self.sim, None

    def load_egl_plugin(self) -> tuple[MultiRobotSimulationCore, None]:
        """Create the simulation; pictures are rendered with OpenGL if available, without a plugin."""
        return self.initialize_client()

    def load_scene(self, mode: str = "bin-scene") -> BinScene:
        """Load the scene `mode`; raises InvalidValueError for an unknown one."""
        if mode not in self.scene_modes:
            raise InvalidValueError(f"mode: expected one of {', '.join(self.scene_modes)}, got {mode!r}")
        if self.sim is None:
            self.initialize_client()
        self.scene = self.scene_modes[mode](self.sim, self.config)
        return self.scene

    def loaded_scene(self) -> BinScene:
        """Return the scene; raises InvalidValueError before the first reset."""
        return begun(self.scene)

    def configure_renderer(self, disable_rendering: bool) -> None:
        """Stop drawing in the window, or continue."""
        self.loaded_scene().configure_renderer(disable_rendering)

    def reset(
        self, keep_object_type: bool = False, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; `keep_object_type`, also in `options`, keeps the kind of objects in the bin.

        The camera returns to the pose of its settings.
        """
        unknown = [name for name in options or {} if name != "keep_object_type"]
        if unknown:
            raise unknown_name("option of reset()", unknown[0], ["keep_object_type"])
        super().reset(seed=seed)
        scene = self.scene or self.load_scene(self.config.scene.mode)
        keep = keep_object_type or bool((options or {}).get("keep_object_type", False))
        scene.reset(keep, self.np_random)
        self.robots = scene.arms
        if self.camera is None:
            self.camera = Camera(self.config.camera, scene.sim, self.config.simulation.sim_mode)
        self.camera.reset()
        return self.get_state(), {}

    # ---- the camera --------------------------------------------------------------------------------------------------

    def recompute_view_and_projection_matrix(
        self,
        eye_position: Sequence[float],
        target_position: Sequence[float],
        fov: float,
        near_plane: float,
        far_plane: float,
        up_vector: Sequence[float] | None = None,
        render_width: int | None = None,
        render_height: int | None = None,
    ) -> None:
        """Move the camera until the next reset; omitted values do not change.

        If observations contain the camera's picture, do not change its size: the observation space is fixed.
        """
        camera = self._camera()
        camera.eye, camera.target = np.array(eye_position, np.float64), np.array(target_position, np.float64)
        camera.up = camera.up if up_vector is None else np.array(up_vector, np.float64)
        camera.fov, camera.near, camera.far = fov, near_plane, far_plane
        # 0 is refused with the rest of what no picture can have.
        camera.width = camera.width if render_width is None else render_width
        camera.height = camera.height if render_height is None else render_height
        camera.compute_view_and_projection_matrix()

    def _camera(self) -> Camera:
        return begun(self.camera)

    def render(self, mode: str | None = None, get_depth_data: bool = False) -> Any:
        """Return the camera's picture in the render mode (or `mode`): colors, or colors and depth in m.

        Return None in the mode "human", where the window shows the scene, and without a render mode. The mode "rgb" is
        another name of "rgb_array". Raises InvalidValueError for others.
        """
        wanted = "rgb_array" if mode == "rgb" else mode or self.render_mode
        check_render_mode(wanted, self.metadata["render_modes"])
        if wanted in (None, "human"):
            return None
        depth = get_depth_data or wanted in ("rgb_and_depth", "rgb_and_depth_arrays")
        return self._camera().get_image(get_depth_data=depth)

    def close(self) -> None:
        """End the simulation; may be called again."""
        if self.sim is not None:
            self.sim.close()
        # Back to the state before the first `reset`, which builds all of it again.
        self.sim = self.scene = self.camera = None
        self.robots = []


def picture_spaces(config: BinPickingConfig) -> tuple[Any, Any]:
    """Return the spaces of the camera's colors and depth."""
    camera = config.camera
    size = (camera.height_resolution, camera.width_resolution)
    # Scaled depth is a grey picture.
    most = 255.0 if camera.scale_depth_data else camera.projection_matrix.far_plane
    rgb = gym.spaces.Box(0, 255, (*size, 3), np.uint8)
    return rgb, gym.spaces.Box(0.0, most, size, np.float32)
