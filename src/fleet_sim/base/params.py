"""SimulationParams: all settings of a simulation; the named choices that they and code use; settings of a live view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from fleet_sim.base import limits
from fleet_sim.base.errors import ConfigError, InvalidValueError, did_you_mean, unknown_name
from fleet_sim.base.files import beside, is_folder
from fleet_sim.base.registry import saved
from fleet_sim.base.scenario import as_scenario, check_kind, check_sections, check_spelling, is_scenario, simulation_in
from fleet_sim.base.settings import Checked, UsedSettings, load_mapping, names_of, read, setting

# Named choices for code and config files, each equal to its string value. Columns store the small integer `code` of a
# choice, files and messages its string value.


ModeT = TypeVar("ModeT", bound="Mode")

EngineChoice: TypeAlias = Literal["auto", "bullet", "mujoco"]
"""What moves dynamic bodies: PyBullet, MuJoCo, or whichever is installed, PyBullet first."""
PoseFlush: TypeAlias = Literal["step", "demand"]
"""When moved poses are written to the engine: in each step, or when the engine is queried."""

CompiledCodeUse: TypeAlias = Literal["auto", "always", "never"]
"""When the step uses compiled code: where there is much to do, or in each world, or in none."""


class Mode(str, Enum):
    """A choice that equals its string value: `MotionMode.DIFFERENTIAL == "differential"`; printed as its value.

    Constructed from its value; raises InvalidValueError with the closest value for any other.
    """

    @classmethod
    def _missing_(cls, value: object) -> None:
        hint = did_you_mean(str(value), [member.value for member in cls])
        raise InvalidValueError(f"{cls.__name__}: unknown value {value!r}.{hint}")

    def __str__(self) -> str:
        return str(self.value)

    @cached_property
    def code(self) -> int:
        """The integer that columns store for this choice: its index in the order of definition."""
        return list(type(self)).index(self)

    @classmethod
    def from_code(cls: type[ModeT], code: int) -> ModeT:
        """Return the choice with this integer `code` in columns; raises UnknownNameError."""
        members = list(cls)
        if not 0 <= code < len(members):
            raise unknown_name(f"{cls.__name__} code", code, map(str, range(len(members))))
        return members[code]

    @classmethod
    def parse(cls: type[ModeT], value: object) -> ModeT:
        """Return the choice with this value or name, ignoring case; raises InvalidValueError with the closest one."""
        return value if isinstance(value, cls) else cls(str(value).lower())


@saved
class MotionMode(Mode):
    """How a mobile base may move."""

    OMNIDIRECTIONAL = "omnidirectional"
    DIFFERENTIAL = "differential"
    ACKERMANN = "ackermann"
    """Like a car: it steers, and neither turns on the spot nor moves aside."""


@saved
class MovementDirection(Mode):
    """Which end of a differential base leads; AUTO chooses the end that needs the smaller turn."""

    FORWARD = "forward"
    BACKWARD = "backward"
    AUTO = "auto"


@saved
class RouteMode(Mode):
    """Where a route leads: along the lanes of a roadmap, across free space, or as it fits; NONE drives straight."""

    NONE = "none"
    AUTO = "auto"
    """Along the roadmap if the site has one that leads there, else, and around one node, across free space."""
    ROADMAP = "roadmap"
    GRID = "grid"

    @classmethod
    def parse(cls, value: object) -> RouteMode:
        """Return the mode with this value or name; True is AUTO, False and None are NONE."""
        if value is None or isinstance(value, bool):
            return cls.AUTO if value else cls.NONE
        return super().parse(value)


@saved
class ControllerMode(Mode):
    """What a base currently follows: nothing, a velocity command, or a goal pose."""

    IDLE = "idle"
    VELOCITY = "velocity"
    POSE = "pose"


@saved
class PosePhase(Mode):
    """The current phase of a differential goal: turning on the spot, or driving along the line."""

    ROTATE = "rotate"
    FORWARD = "forward"


@saved
class ActionStatus(Mode):
    """The state of an action; the last three are final."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@saved
class ActionCause(Mode):
    """Machine-readable cause of an action that ended without success; its `error_message` explains it in words."""

    INVALID_GOAL = "invalid_goal"
    """The goal is invalid, e.g. an empty path or an unknown link."""
    UNKNOWN_ROBOT = "unknown_robot"
    """The robot was removed."""
    UNKNOWN_OBJECT = "unknown_object"
    """There is no such object, it cannot be picked, or the robot does not carry it."""
    UNREACHABLE = "unreachable"
    """The robot cannot reach the goal."""
    BLOCKED = "blocked"
    """A body stands in the way, which the message names."""
    TIMEOUT = "timeout"
    """The action's timeout has passed."""
    CANCELLED = "cancelled"
    """The action was cancelled on request."""
    PREEMPTED = "preempted"
    """Another command or action took over the robot."""
    SHUTDOWN = "shutdown"
    """The simulation was reset or shut down."""
    FAILED = "failed"
    """Anything else."""
    BATTERY_EMPTY = "battery_empty"
    """The robot's battery is empty."""
    BREAKDOWN = "breakdown"
    """The robot has broken down."""
    EMERGENCY_STOP = "emergency_stop"
    """An emergency stop holds the robot."""
    MANUAL_MODE = "manual_mode"
    """The robot is driven by hand and takes no goals."""
    LOCALIZATION_LOST = "localization_lost"
    """The robot does not know where it is."""
    DISTURBED = "disturbed"
    """A disturbance made the action fail."""
    CLOSED = "closed"
    """The goal, or the way to it, is closed."""


@saved
class CollisionMode(Mode):
    """How a body takes part in collision checks."""

    NORMAL_3D = "normal_3d"
    NORMAL_2D = "normal_2d"
    STATIC = "static"
    DISABLED = "disabled"


class CollisionDetectionMethod(Mode):
    """How collisions are decided: by distances, by the engine's contacts, or by contacts for dynamic bodies only."""

    CLOSEST_POINTS = "closest_points"
    CONTACT_POINTS = "contact_points"
    HYBRID = "hybrid"


class SpatialHashCellSizeMode(Mode):
    """How the cell size of the broad phase is chosen: given, recomputed when the number of bodies changes, or once."""

    CONSTANT = "constant"
    AUTO_ADAPTIVE = "auto_adaptive"
    AUTO_INITIAL = "auto_initial"


LogLevel = Literal["debug", "info", "warn", "error", "critical"]
Vector = tuple[float, float, float]


@dataclass
class CameraParams(Checked):
    """The pose of the window's camera: computed from the content of the world (auto), or given (manual)."""

    camera_mode: Literal["auto", "manual"] = setting("auto", doc="auto: fit the camera to the content of the world.")
    camera_view_type: Literal["top_down", "perspective"] = setting("perspective", doc="Kind of view in auto mode.")
    camera_auto_scale: float = setting(
        0.8, low=0.05, high=1, doc="Fraction of the image that the scene fills in auto mode."
    )
    camera_distance: float = setting(10.0, above=0, unit="m", doc="Distance from the target in manual mode.")
    camera_yaw: float = setting(45.0, low=-360, high=360, unit="degrees", doc="Heading of the camera.")
    camera_pitch: float = setting(-40.0, low=-90, high=90, unit="degrees", doc="-90 looks straight down.")
    camera_target: Vector = setting((0.0, 0.0, 0.0), unit="m", doc="Point in the middle of the image, in manual mode.")


@dataclass
class SimulationParams(UsedSettings):
    """The settings of a simulation; checked when constructed and at each assignment.

    A simulation has a copy, `sim.params`. Live settings can be changed there at any time; the others are refused.

    `collision_detection_method` None is replaced by CLOSEST_POINTS with physics off and HYBRID with physics on. Raises
    ConfigError naming the setting, what was given and what is allowed.
    """

    # Time
    timestep: float = setting(
        1 / 240, low=limits.SHORTEST_STEP, high=limits.LONGEST_STEP, unit="s", doc="Simulated time of one step."
    )
    target_rtf: float = setting(
        1.0, low=limits.SLOWEST, or_zero=True, live=True, doc="Target real-time factor; 0 = as fast as possible."
    )
    duration: float = setting(0.0, low=0, unit="s", live=True, doc="Simulated time after which a run ends; 0 = never.")
    max_steps_per_frame: int = setting(
        10, low=1, live=True, doc="Maximum number of steps between two updates of the window."
    )
    max_sleep_frames: float = setting(
        4.0, above=0, live=True, doc="Maximum sleep between two polls of window events, in frame periods."
    )
    seed: int = setting(0, low=0, doc="Seed of all random streams; the same seed gives the same run.")

    # What is simulated
    physics: bool = setting(False, doc="Simulate dynamic bodies with the physics engine; false = kinematics only.")
    engine: EngineChoice = setting(
        "auto", doc="The physics engine; auto = PyBullet if it is installed, otherwise MuJoCo."
    )
    gravity: Vector = setting(
        (0.0, 0.0, -9.81), unit="m/s^2", live=True, doc="Gravity acting on dynamic bodies, world frame."
    )
    physics_substep: float = setting(1 / 240, above=0, unit="s", doc="Maximum time step of the engine.")
    solver_iterations: int = setting(
        50, low=1, high=limits.MOST_ITERATIONS, doc="Iterations of the engine's constraint solver."
    )
    contact_erp: float = setting(0.08, low=0, high=1, doc="Fraction of a penetration corrected per step.")
    inertia_from_file: bool = setting(
        False, doc="Use the inertias of URDF files; false: the engine computes them from masses and collision shapes."
    )
    enable_floor: bool = setting(True, doc="Add a floor at z = 0.")
    engine_visuals: bool = setting(
        True, doc="Load visual shapes into the engine. false: bodies load faster, but only OpenGL cameras see them."
    )
    model_paths: tuple[str, ...] = setting(
        (), doc="Folders searched first for robot models by name and for the packages of their meshes."
    )
    world_extent: float = setting(
        limits.EXTENT,
        low=limits.SMALLEST_EXTENT,
        high=limits.LARGEST_EXTENT,
        unit="m",
        doc="Maximum distance from the origin along each axis; positions beyond it are rejected.",
    )
    pose_flush: PoseFlush = setting(
        "demand", doc="When moved poses are written to the engine: in each step, or on demand when it is queried."
    )
    keep_initial_state: bool = setting(True, doc="Save the state at the start of the run so that it can be restored.")
    raise_on_fault: bool = setting(False, live=True, doc="Re-raise exceptions from user callbacks and plugins.")
    compiled_code: CompiledCodeUse = setting(
        "auto",
        doc="Use of compiled code in the step, with equal results: auto = for many entities or rays, where the extra "
        "fast is installed; always; never, apart from traffic.",
    )
    max_failures: int = setting(
        100,
        low=0,
        live=True,
        doc="Exceptions in a row after which a callback, plugin, controller, sensor or ROS publisher is switched off "
        "until a reset; 0 = never.",
    )

    # Collisions
    collision_check_frequency: float | None = setting(
        None, low=0, unit="Hz", live=True, doc="Collision checks per simulated second; null = in each step, 0 = never."
    )
    collision_detection_method: CollisionDetectionMethod | None = setting(
        None, doc="How collisions are detected; null = closest_points with physics off, hybrid with physics on."
    )
    collision_margin: float = setting(0.02, low=0, unit="m", doc="Bodies closer than this collide.")
    ignore_static_collision: bool = setting(True, doc="Do not report pairs with a static body.")
    block_on_collision: bool = setting(False, doc="Robots stop at obstacles instead of passing through.")
    blocked_timeout: float = setting(
        10.0,
        low=0,
        high=limits.LONGEST_TIME,
        unit="s",
        live=True,
        doc="Time after which a robot that a static body blocks gives up its goal; 0 = never.",
    )
    spatial_hash_cell_size_mode: SpatialHashCellSizeMode = setting(
        SpatialHashCellSizeMode.AUTO_INITIAL, doc="How the cell size of the collision grid is chosen."
    )
    spatial_hash_cell_size: float | None = setting(
        None, above=0, unit="m", doc="Cell size of the collision grid; required in mode constant."
    )
    multi_cell_threshold: float = setting(
        1.5, above=0, doc="Bodies larger than this many cells are sorted along an axis."
    )

    # Sensors
    camera_budget: int | None = setting(
        None, low=1, doc="Maximum number of camera images per step; other due cameras wait. null = no limit."
    )

    # Window
    gui: bool = setting(True, doc="Open a window.")
    gui_min_fps: float = setting(30, above=0, unit="Hz", live=True, doc="Minimum update rate of the window.")
    window_width: int = setting(1024, low=1, high=limits.MOST_PIXELS, unit="pixels", doc="Width of the window.")
    window_height: int = setting(768, low=1, high=limits.MOST_PIXELS, unit="pixels", doc="Height of the window.")
    camera_config: CameraParams = setting(
        factory=CameraParams, aliases=("camera",), live=True, doc="The window's camera."
    )
    enable_collision_shapes: bool = setting(False, live=True, doc="Show collision shapes.")
    enable_structure_transparency: bool = setting(False, live=True, doc="Draw static bodies transparent.")
    enable_shadows: bool = setting(True, live=True, doc="Draw shadows.")
    enable_gui_panel: bool = setting(False, live=True, doc="Show the panels of the engine's window.")
    enable_collision_color_change: bool = setting(False, live=True, doc="Color bodies while they collide.")

    # Monitor, logging, profiling
    monitor: bool = setting(True, doc="Show figures of the run; needs gui and enable_monitor_gui.")
    enable_monitor_gui: bool = setting(True, doc="Show the monitor in its own small window.")
    monitor_width: int = setting(200, low=1, high=limits.MOST_PIXELS, unit="pixels", doc="Width of its window.")
    monitor_height: int = setting(290, low=1, high=limits.MOST_PIXELS, unit="pixels", doc="Height of its window.")
    monitor_x: int = setting(-1, low=-1, unit="pixels", doc="Left edge of the monitor's window; -1 = automatic.")
    monitor_y: int = setting(-1, low=-1, unit="pixels", doc="Top edge of the monitor's window; -1 = automatic.")
    log_level: LogLevel = setting("warn", live=True, doc="Minimum level of messages that are logged.")
    enable_time_profiling: bool = setting(False, live=True, doc="Log the time of each part of a step.")
    profiling_interval: int = setting(
        100, low=1, unit="steps", live=True, doc="Number of steps between two profiling lines."
    )
    enable_memory_profiling: bool = setting(False, live=True, doc="Also log memory use in profiling lines.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spatial_hash_cell_size_mode is SpatialHashCellSizeMode.CONSTANT and not self.spatial_hash_cell_size:
            raise ConfigError(
                "must be given (a number above 0) where spatial_hash_cell_size_mode is constant",
                path="spatial_hash_cell_size",
            )
        self._check_engine()
        # With room for rounding: the engine makes at least as many steps.
        if self.physics and self.timestep > limits.MOST_SUBSTEPS * self.physics_substep * (1 + 1e-9):
            raise ConfigError(
                f"must be at most {limits.MOST_SUBSTEPS} times physics_substep ({self.physics_substep:g} s) with "
                f"physics, got {self.timestep:g}",
                path="timestep",
            )

    def _check_engine(self) -> None:
        """Raise ConfigError for settings that need PyBullet where the engine is MuJoCo."""
        if self.engine != "mujoco":
            return
        if self.gui:
            raise ConfigError(
                "the window is PyBullet's; set gui: false (--headless), watch with --view, or set engine: bullet",
                path="gui",
            )
        if self.pose_flush == "step":
            raise ConfigError("step is for queries of PyBullet; set demand, or engine: bullet", path="pose_flush")

    def __setattr__(self, name: str, value: object) -> None:
        # `physics` is defined earlier, so it is already set when the default of the method is assigned.
        if name == "collision_detection_method" and value is None:
            value = CollisionDetectionMethod.HYBRID if self.physics else CollisionDetectionMethod.CLOSEST_POINTS
        super().__setattr__(name, value)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], *, source: str = "") -> SimulationParams:
        """Return the settings in `config`: a flat mapping, or a scenario with a `simulation:` section.

        Settings implied by other sections, such as the time step of a swarm world, are not included: building a
        simulation adds them. Raises ConfigError naming `source` and the key path.
        """
        config = as_scenario(config) if isinstance(config, Mapping) else config
        if not isinstance(config, Mapping):
            return read(cls, config, source=source)
        check_kind("scenario", config, source)
        if not is_scenario(config):
            check_spelling(config, names_of(cls), source=source)
            return read(cls, config, source=source)._beside(source)
        check_sections(config, source=source)
        return read(cls, simulation_in(config), source=source, path="simulation")._beside(source)

    def _beside(self, source: str) -> SimulationParams:
        self.model_paths = tuple(beside(source, folder, is_folder) for folder in self.model_paths)
        return self

    @classmethod
    def from_config(cls, path: str | Path = "config.yaml") -> SimulationParams:
        """Return the settings in the YAML file `path`; raises ConfigError as `from_dict` does."""
        return cls.from_dict(load_mapping(path), source=str(path))

    @property
    def camera(self) -> CameraParams:
        """Alias of `camera_config`."""
        return self.camera_config

    @camera.setter
    def camera(self, value: CameraParams | Mapping[str, Any]) -> None:
        self.camera_config = value  # type: ignore[assignment]  # a mapping is read into CameraParams


# ViewParams: the settings of a live view.


LARGEST_PORT = 65_535
HIGHEST_RATE = 20.0
"""In Hz; faster than this nobody sees a difference, and each picture is sent to every browser."""


@dataclass(frozen=True)
class ViewParams(Checked):
    """Where a live view is served, how often it is brought up to date, and what it allows."""

    host: str = setting(
        "127.0.0.1",
        doc="Address to serve at. 127.0.0.1: this machine only; with any other address the URL contains a secret.",
    )
    port: int = setting(8080, low=0, high=LARGEST_PORT, doc="Port; if taken, the next free one. 0: any free port.")
    rate: float = setting(
        HIGHEST_RATE, above=0, high=HIGHEST_RATE, unit="Hz", doc="Pictures per second of real time, at most."
    )
    read_only: bool = setting(False, doc="Pages can only watch, not change anything.")
    spawning: bool = setting(True, doc="Whether the page may spawn and remove robots and objects.")
    browser: bool = setting(False, doc="Open the page in a browser, if there is a display.")
