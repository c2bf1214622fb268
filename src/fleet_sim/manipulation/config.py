"""The settings of bin picking: simulation, camera, arms, scene and when an episode ends.

Keys may be written with hyphens or underscores; arms and joints are numbered (`arm-1`, `joint-1`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fleet_sim.errors import ConfigError
from fleet_sim.paths import resolve_config
from fleet_sim.settings import Checked, load_mapping, read, setting

Vector = tuple[float, float, float]

SIM_MODES = ("gpu-gui", "gpu-headless", "cpu-headless")
RENDER_MODES = ("human", "rgb_array", "rgb_and_depth_arrays")
REST = (0.0, -0.25, 0.0, -2.35, 0.0, 2.1, 0.785, 0.0, 0.0, 0.02, 0.02, 0.0)
"""Where the 12 joints of the panda are at the beginning."""


@dataclass
class EngineSettings(Checked):
    """How the engine is run, and how pictures are made."""

    sim_mode: Literal["gpu-gui", "gpu-headless", "cpu-headless"] = setting(
        "gpu-headless", doc="With a window; headless with OpenGL where it is there; headless with PyBullet's renderer."
    )
    ml_mode: Literal["training", "testing"] = setting("training", doc="Which set the things in the bin are taken from.")
    render_mode: Literal["human", "rgb_array", "rgb_and_depth_arrays"] | None = setting(
        None, doc="What render() of an environment made without `render_mode` does; null: nothing."
    )
    enable_windows: bool = setting(False, doc="Show the engine's own panels in the window.")
    gravity: Vector = setting((0.0, 0.0, -9.81), unit="m/s^2", doc="World frame.")
    timestep: float = setting(1 / 120, above=0, unit="s", doc="Simulated time of one step.")
    number_of_sub_steps: int = setting(2, low=1, doc="Steps of the engine in one step.")
    number_of_solver_iterations: int = setting(50, low=1, doc="Most iterations of the engine's solver.")
    contact_erp: float = setting(0.2, low=0, high=1, doc="Share of a penetration that is mended in a step.")
    objects_sleep: bool = setting(True, doc="Things that lie still cost nothing until something touches them.")


@dataclass
class CollisionEnd(Checked):
    """Whether touching a bin ends an episode."""

    enable: bool = setting(True, doc="End when an arm touches a bin.")


@dataclass
class GrabEnd(Checked):
    """Whether successful grabs end an episode."""

    enable: bool = setting(True, doc="End after so many grabs.")
    ensure_grab_is_stable: bool = setting(True, doc="Shake before a grab counts.")
    grabs_before_termination: int = setting(1, low=1, doc="How many grabs.")


@dataclass
class TerminationSettings(Checked):
    """When an episode ends, besides its length."""

    terminate_on_collision_with_bin: CollisionEnd = setting(factory=CollisionEnd, doc="Touching a bin.")
    terminate_after_successful_grabs: GrabEnd = setting(factory=GrabEnd, doc="Grabs.")


@dataclass
class ViewSettings(Checked):
    """Where the camera is, what it looks at, and which way is up in its picture."""

    eye_position: Vector = setting((0.86, 0.0, 0.52), unit="m", doc="World frame.")
    target_position: Vector = setting((0.5, 0.0, 0.01), unit="m", doc="World frame.")
    up_vector: Vector = setting((0.0, 0.0, 1.0), doc="World frame.")


@dataclass
class ProjectionSettings(Checked):
    """What the camera sees."""

    fov: float = setting(24.0, above=0, high=170, unit="degrees", doc="Vertical field of view.")
    near_plane: float = setting(0.01, above=0, unit="m", doc="Nearer things are not seen.")
    far_plane: float = setting(2.0, above=0, unit="m", doc="Further things are not seen.")


@dataclass
class PictureSettings(Checked):
    """The camera above the bin."""

    scale_depth_data: bool = setting(False, doc="Depth as a grey picture from 0 to 255 instead of metres.")
    width_resolution: int = setting(160, low=1, high=8192, unit="pixels")
    height_resolution: int = setting(160, low=1, high=8192, unit="pixels")
    view_matrix: ViewSettings = setting(factory=ViewSettings, doc="Where it stands.")
    projection_matrix: ProjectionSettings = setting(factory=ProjectionSettings, doc="What it sees.")


@dataclass
class ArmSettings(Checked):
    """One arm."""

    type: Literal["franka"] = setting("franka", doc="The kind of arm.")
    clip_delta_actions_to_workspace: bool = setting(True, doc="Keep the gripper within the bin's walls.")
    get_end_effector_force_sensor_readings: bool = setting(False, doc="Measure forces in the fingers.")
    position: Vector = setting((0.0, 0.0, 0.0), unit="m", doc="Of the base, world frame.")
    orientation: Vector = setting((0.0, 0.0, 0.0), unit="degrees", doc="Of the base: roll, pitch, yaw.")
    joints: list[float] = setting(factory=lambda: list(REST), unit="rad or m", doc="Of all 12 joints at the beginning.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.joints) != len(REST):
            raise ConfigError(f"expected {len(REST)} joint positions, got {len(self.joints)}", path="joints")


@dataclass
class ObjectSettings(Checked):
    """What lies in the bin."""

    load_specific_object: bool = setting(False, doc="Take `relative_path_to_object` instead of a random kind.")
    relative_path_to_object: str = setting(
        "", doc="A mesh file (OBJ), or the name of a kind such as sphere or cylinder."
    )
    min_number_of_objects: int = setting(5, low=1, doc="Least number of things.")
    max_number_of_objects: int = setting(80, low=1, doc="Largest number of things.")
    heaps_per_kind: int = setting(4, low=1, doc="Different heaps of each kind; each is let fall once.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_number_of_objects > self.max_number_of_objects:
            raise ConfigError(
                f"{self.min_number_of_objects} is more than max_number_of_objects, {self.max_number_of_objects}",
                path="min_number_of_objects",
            )
        if self.load_specific_object and not self.relative_path_to_object:
            raise ConfigError("missing; load_specific_object needs it", path="relative_path_to_object")


@dataclass
class BinSettings(Checked):
    """A bin without things of its own."""

    position: Vector = setting((0.5, 0.3, 0.0), unit="m", doc="Of the middle of its floor, world frame.")
    orientation: Vector = setting((0.0, 0.0, 0.0), unit="degrees", doc="Roll, pitch, yaw.")


@dataclass
class PickBinSettings(BinSettings):
    """A bin to pick from."""

    position: Vector = setting((0.5, 0.0, 0.0), unit="m", doc="Of the middle of its floor, world frame.")
    objects: ObjectSettings = setting(factory=ObjectSettings, doc="What lies in it.")


@dataclass
class SceneSettings(Checked):
    """Bins on the ground."""

    mode: Literal["bin-scene"] = setting("bin-scene", doc="The kind of scene.")
    steps_for_objects_to_fall: int = setting(500, low=1, doc="Steps for which things fall into the bin.")
    drop_bin_enable: bool = setting(True, doc="Whether there is a second, empty bin.")
    bin: PickBinSettings = setting(factory=PickBinSettings, doc="The bin to pick from.")
    drop_bin: BinSettings = setting(factory=BinSettings, doc="The bin to drop into.")


@dataclass
class BinPickingConfig(Checked):
    """All settings of bin picking."""

    simulation: EngineSettings = setting(factory=EngineSettings, doc="The engine.")
    termination: TerminationSettings = setting(factory=TerminationSettings, doc="When an episode ends.")
    camera: PictureSettings = setting(factory=PictureSettings, doc="The camera.")
    arms: dict[str, ArmSettings] = setting(factory=lambda: {"arm_1": ArmSettings()}, doc="The arms by name.")
    scene: SceneSettings = setting(factory=SceneSettings, doc="The bins.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.arms:
            raise ConfigError("expected at least one arm, such as arm-1: {}", path="arms")


def load_bin_picking(config: str | Path | Mapping[str, Any] | BinPickingConfig | None) -> BinPickingConfig:
    """Return the settings in a YAML file, a mapping, or the defaults for None; raises ConfigError."""
    if isinstance(config, BinPickingConfig):
        return config
    if config is None:
        return BinPickingConfig()
    source = "" if isinstance(config, Mapping) else str(config)
    data = config if isinstance(config, Mapping) else load_mapping(resolve_config(config))
    plain = _underscored(data)
    arms = plain.get("arms")
    if isinstance(arms, dict):
        plain["arms"] = {name: _arm(arm, source, f"arms.{name}") for name, arm in arms.items()}
    made: BinPickingConfig = read(BinPickingConfig, plain, source=source)
    return made


def _underscored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key).replace("-", "_"): _underscored(entry) for key, entry in value.items()}
    return value


def _arm(arm: Any, source: str, path: str) -> Any:
    """Return an arm's settings with its numbered joints as a list."""
    joints = arm.get("joints") if isinstance(arm, Mapping) else None
    if not isinstance(joints, Mapping):
        return arm
    names = [f"joint_{number}" for number in range(1, len(REST) + 1)]
    unknown = [name for name in joints if name not in names]
    if unknown or len(joints) != len(names):
        given = ", ".join(map(str, joints))
        raise ConfigError(f"expected joint-1 to joint-{len(REST)}, got {given}", source=source, path=f"{path}.joints")
    return {**arm, "joints": [joints[name] for name in names]}


_NUMBER = re.compile(r"\d+$")


def arm_number(name: str) -> int:
    """Return the number at the end of an arm's name, 0 where there is none: arms are made in that order."""
    found = _NUMBER.search(name)
    return int(found.group()) if found else 0
