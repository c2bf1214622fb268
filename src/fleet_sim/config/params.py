"""SimulationParams: every setting of a simulation, its default and its range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fleet_sim.config.modes import CollisionDetectionMethod, PoseFlush, SpatialHashCellSizeMode
from fleet_sim.config.scenario import as_scenario, check_sections, is_scenario
from fleet_sim.errors import ConfigError
from fleet_sim.gate.bounds import EXTENT, LARGEST_EXTENT
from fleet_sim.settings import Checked, load_mapping, read, setting

LogLevel = Literal["debug", "info", "warn", "error", "critical"]
Vector = tuple[float, float, float]


@dataclass
class CameraParams(Checked):
    """Where the camera of the window stands: found from what is in the world (auto), or given (manual)."""

    camera_mode: Literal["auto", "manual"] = setting("auto", doc="auto frames what is in the world.")
    camera_view_type: Literal["top_down", "perspective"] = setting("perspective", doc="The view of the auto mode.")
    camera_auto_scale: float = setting(0.8, low=0.05, high=1, doc="Share of the picture the scene takes in auto mode.")
    camera_distance: float = setting(10.0, above=0, unit="m", doc="Distance from the target in manual mode.")
    camera_yaw: float = setting(45.0, low=-360, high=360, unit="degrees", doc="Heading of the camera.")
    camera_pitch: float = setting(-40.0, low=-90, high=90, unit="degrees", doc="-90 looks straight down.")
    camera_target: Vector = setting((0.0, 0.0, 0.0), unit="m", doc="The point in the middle of the picture.")


@dataclass
class SimulationParams(Checked):
    """The settings of a simulation; checked when constructed and at each assignment.

    `collision_detection_method` None becomes, when given, CLOSEST_POINTS with physics off and HYBRID with
    physics on. Raises ConfigError naming the setting, what was given and what is allowed.
    """

    # Time
    timestep: float = setting(1 / 240, above=0, unit="s", doc="Simulated time of one step.")
    target_rtf: float = setting(1.0, low=0, doc="Simulated seconds per real second; 0 = as fast as possible.")
    duration: float = setting(0.0, low=0, unit="s", doc="Simulated time after which a run ends; 0 = never.")
    max_steps_per_frame: int = setting(10, low=1, doc="Most steps between two updates of the window.")
    max_sleep_frames: float = setting(4.0, above=0, doc="Longest rest between two looks at the window, in frames.")
    seed: int = setting(0, low=0, doc="Seeds every random stream; the same seed gives the same run.")

    # What is simulated
    physics: bool = setting(False, doc="Simulate dynamic bodies with the engine; off = kinematics only.")
    gravity: Vector = setting((0.0, 0.0, -9.81), unit="m/s^2", doc="Acting on dynamic bodies, world frame.")
    physics_substep: float = setting(1 / 240, above=0, unit="s", doc="Longest step of the engine within a step.")
    solver_iterations: int = setting(50, low=1, doc="Iterations of the engine's solver of constraints.")
    contact_erp: float = setting(0.2, low=0, high=1, doc="Share of a penetration that the engine mends in a step.")
    inertia_from_file: bool = setting(
        False, doc="Take inertias from URDF files. Off: the engine works them out from masses and collision shapes."
    )
    enable_floor: bool = setting(True, doc="Put a floor at z = 0.")
    engine_visuals: bool = setting(
        True, doc="Bodies in the engine have looks. Off: they load faster, but only OpenGL cameras see them."
    )
    model_paths: list[str] = setting(
        factory=list, doc="Folders searched first for robot models by name, and for the packages of their meshes."
    )
    world_extent: float = setting(
        EXTENT,
        above=0,
        high=LARGEST_EXTENT,
        unit="m",
        doc="How far from the origin anything may be put along an axis; what is farther is refused.",
    )
    pose_flush: PoseFlush = setting(
        "demand", doc="Write moved poses to the engine in each step, or when something asks the engine."
    )
    keep_initial_state: bool = setting(True, doc="Remember the start of the run so that it can be restored.")
    raise_on_fault: bool = setting(False, doc="A fault in a user callback or plugin is re-raised.")

    # Collisions
    collision_check_frequency: float | None = setting(
        None, low=0, unit="Hz", doc="null = in each step, 0 = never, else times per simulated second."
    )
    collision_detection_method: CollisionDetectionMethod | None = setting(
        None, doc="null = closest_points with physics off, hybrid with physics on."
    )
    collision_margin: float = setting(0.02, low=0, unit="m", doc="Bodies closer than this collide.")
    ignore_static_collision: bool = setting(True, doc="Report no pair in which one body is static.")
    block_on_collision: bool = setting(False, doc="Robots stop at obstacles instead of passing through.")
    spatial_hash_cell_size_mode: SpatialHashCellSizeMode = setting(
        SpatialHashCellSizeMode.AUTO_INITIAL, doc="Where the cell size of the collision grid comes from."
    )
    spatial_hash_cell_size: float | None = setting(
        None, above=0, unit="m", doc="Cell size of the collision grid; needed by the mode constant."
    )
    multi_cell_threshold: float = setting(
        1.5, above=0, doc="Bodies larger than this many cells are kept in several cells."
    )

    # Sensors
    camera_budget: int | None = setting(
        None, low=1, doc="Most camera pictures in one step; cameras that are due wait their turn. null = no limit."
    )

    # Window
    gui: bool = setting(True, doc="Open a window.")
    gui_min_fps: float = setting(30, above=0, unit="Hz", doc="Least rate of updates of the window.")
    window_width: int = setting(1024, low=1, unit="pixels")
    window_height: int = setting(768, low=1, unit="pixels")
    camera_config: CameraParams = setting(factory=CameraParams, aliases=("camera",), doc="The window's camera.")
    enable_collision_shapes: bool = setting(False, doc="Show collision shapes.")
    enable_structure_transparency: bool = setting(False, doc="Show static bodies transparent.")
    enable_shadows: bool = setting(True, doc="Draw shadows.")
    enable_gui_panel: bool = setting(False, doc="Show the engine's own panels.")
    enable_collision_color_change: bool = setting(False, doc="Colour bodies while they collide.")

    # Monitor, logging, profiling
    monitor: bool = setting(True, doc="Show figures of the run beside the window.")
    enable_monitor_gui: bool = setting(True, doc="Show them in a small window of their own.")
    monitor_width: int = setting(200, low=1, unit="pixels")
    monitor_height: int = setting(290, low=1, unit="pixels")
    monitor_x: int = setting(-1, low=-1, unit="pixels", doc="-1 = placed automatically.")
    monitor_y: int = setting(-1, low=-1, unit="pixels", doc="-1 = placed automatically.")
    log_level: LogLevel = setting("warn", doc="Least level that is logged.")
    enable_time_profiling: bool = setting(False, doc="Log where the time of a step goes.")
    profiling_interval: int = setting(100, low=1, unit="steps", doc="Steps between two profiling lines.")
    enable_memory_profiling: bool = setting(False, doc="Log the use of memory with it.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spatial_hash_cell_size_mode is SpatialHashCellSizeMode.CONSTANT and not self.spatial_hash_cell_size:
            raise ConfigError(
                "must be given (a number above 0) where spatial_hash_cell_size_mode is constant",
                path="spatial_hash_cell_size",
            )

    def __setattr__(self, name: str, value: object) -> None:
        # physics is defined earlier, so it is set when the default of the method arrives here.
        if name == "collision_detection_method" and value is None:
            value = CollisionDetectionMethod.HYBRID if self.physics else CollisionDetectionMethod.CLOSEST_POINTS
        super().__setattr__(name, value)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], *, source: str = "") -> SimulationParams:
        """Return the settings in `config`: a flat mapping, or a scenario with a `simulation:` section.

        What other sections imply, such as the time step of a swarm world, is not among them: building a simulation
        adds it. Raises ConfigError naming `source` and the key path.
        """
        config = as_scenario(config) if isinstance(config, Mapping) else config
        if not isinstance(config, Mapping) or not is_scenario(config):
            return read(cls, config, source=source)
        check_sections(config, source=source)
        return read(cls, config.get("simulation", {}), source=source, path="simulation")

    @classmethod
    def from_config(cls, path: str | Path = "config.yaml") -> SimulationParams:
        """Return the settings in the YAML file `path`; raises ConfigError as `from_dict` does."""
        return cls.from_dict(load_mapping(path), source=str(path))

    @property
    def camera(self) -> CameraParams:
        """Another name of `camera_config`."""
        return self.camera_config

    @camera.setter
    def camera(self, value: CameraParams | Mapping[str, Any]) -> None:
        self.camera_config = value  # type: ignore[assignment]  # a mapping is read into CameraParams
