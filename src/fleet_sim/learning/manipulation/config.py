"""The settings of bin picking: simulation, camera, arms, scene and termination of episodes; see `loading`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal, TypeVar

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.limits import MOST_ITERATIONS, MOST_OBJECTS, MOST_SUBSTEPS
from fleet_sim.base.params import EngineChoice
from fleet_sim.base.settings import UsedSettings, load_mapping, read, setting
from fleet_sim.base.settings.reader import plain
from fleet_sim.engines.bullet.handle import BulletHandle
from fleet_sim.simulation import MultiRobotSimulationCore

Vector = tuple[float, float, float]

SIM_MODES = ("gpu-gui", "gpu-headless", "cpu-headless")
RENDER_MODES = ("human", "rgb_array", "rgb_and_depth_arrays")
REST = (0.0, -0.25, 0.0, -2.35, 0.0, 2.1, 0.785, 0.0, 0.0, 0.02, 0.02, 0.0)
"""Initial positions of the 12 joints of the panda, in rad and m; those of fixed joints are 0."""


def _gravity(value: object) -> Vector:
    """Return gravity (3,); a number is its z component, as in `-9.81`. Raises ValueError."""
    given = (0.0, 0.0, value) if isinstance(value, Real) else value
    if not isinstance(given, (list, tuple)) or len(given) != 3:
        raise ValueError(f"expected a number, the z component, or a list of 3 numbers, got {value!r}")
    for number in given:
        # A bool is a Real, too, and no number.
        if not isinstance(number, Real) or isinstance(number, bool) or not isfinite(number):
            raise ValueError(f"expected finite numbers, got {value!r}")
    x, y, z = map(float, given)
    return x, y, z


@dataclass
class EngineSettings(UsedSettings):
    """Settings of the physics engine and of rendering."""

    sim_mode: Literal["gpu-gui", "gpu-headless", "cpu-headless"] = setting(
        "gpu-headless",
        doc="gpu-gui: with a window. gpu-headless: OpenGL if available. cpu-headless: PyBullet's software renderer.",
    )
    engine: EngineChoice = setting(
        "auto", doc="The physics engine; auto = PyBullet if it is installed, otherwise MuJoCo."
    )
    ml_mode: Literal["training", "testing"] = setting("training", doc="The set from which objects are drawn.")
    render_mode: Literal["human", "rgb_array", "rgb_and_depth_arrays"] | None = setting(
        None, doc="Render mode of an environment that is made without `render_mode`; null: render() returns None."
    )
    enable_windows: bool = setting(False, doc="Show the engine's own panels in the window.")
    gravity: Vector = setting(
        (0.0, 0.0, -9.81),
        reader=_gravity,
        schema={
            "anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}]
        },
        unit="m/s^2",
        doc="Gravity, world frame; one number is its z component.",
    )
    timestep: float = setting(1 / 120, above=0, unit="s", doc="Simulated time per step.")
    number_of_sub_steps: int = setting(2, low=1, high=MOST_SUBSTEPS, doc="Engine steps per simulation step.")
    number_of_solver_iterations: int = setting(
        400, low=1, high=MOST_ITERATIONS, doc="Maximum number of iterations of the engine's solver."
    )
    contact_erp: float = setting(0.2, low=0, high=1, doc="Fraction of a penetration that is corrected per step.")
    objects_sleep: bool = setting(True, doc="Objects at rest cost nothing until something touches them.")


@dataclass
class CollisionEnd(UsedSettings):
    """Termination by a collision with a bin."""

    enable: bool = setting(True, doc="End the episode when an arm touches a bin.")


@dataclass
class GrabEnd(UsedSettings):
    """Termination by successful grabs."""

    enable: bool = setting(True, doc="End the episode after `grabs_before_termination` grabs.")
    ensure_grab_is_stable: bool = setting(True, doc="A grab counts only if the object is still held after a shake.")
    grabs_before_termination: int = setting(1, low=1, doc="Number of successful grabs that end an episode.")


@dataclass
class TerminationSettings(UsedSettings):
    """Conditions that end an episode, besides its length."""

    terminate_on_collision_with_bin: CollisionEnd = setting(
        factory=CollisionEnd, doc="Termination by a collision with a bin."
    )
    terminate_after_successful_grabs: GrabEnd = setting(factory=GrabEnd, doc="Termination by successful grabs.")


@dataclass
class ViewSettings(UsedSettings):
    """The pose of the camera."""

    eye_position: Vector = setting((0.86, 0.0, 0.52), unit="m", doc="Position of the camera, world frame.")
    target_position: Vector = setting((0.5, 0.0, 0.01), unit="m", doc="Point the camera looks at, world frame.")
    up_vector: Vector = setting((0.0, 0.0, 1.0), doc="Up direction of the picture, world frame.")


@dataclass
class ProjectionSettings(UsedSettings):
    """The lens of the camera."""

    fov: float = setting(24.0, above=0, high=170, unit="degrees", doc="Vertical field of view.")
    near_plane: float = setting(0.01, above=0, unit="m", doc="Distance below which nothing is visible.")
    far_plane: float = setting(2.0, above=0, unit="m", doc="Distance beyond which nothing is visible.")


@dataclass
class PictureSettings(UsedSettings):
    """The camera above the bin."""

    scale_depth_data: bool = setting(
        False, live=True, doc="Return depth scaled to 0 to 255 between the planes instead of in m."
    )
    width_resolution: int = setting(160, low=1, high=8192, unit="pixels", doc="Width of pictures.")
    height_resolution: int = setting(160, low=1, high=8192, unit="pixels", doc="Height of pictures.")
    view_matrix: ViewSettings = setting(factory=ViewSettings, doc="Pose of the camera.")
    projection_matrix: ProjectionSettings = setting(factory=ProjectionSettings, doc="Lens of the camera.")


@dataclass
class ArmSettings(UsedSettings):
    """One arm."""

    type: Literal["franka"] = setting("franka", doc="The kind of arm.")
    clip_delta_actions_to_workspace: bool = setting(True, doc="Keep the gripper between the walls of the bin.")
    get_end_effector_force_sensor_readings: bool = setting(False, doc="Measure the reaction forces of the fingers.")
    position: Vector = setting((0.0, 0.0, 0.0), unit="m", doc="Position of the base, world frame.")
    orientation: Vector = setting((0.0, 0.0, 0.0), unit="degrees", doc="Roll, pitch and yaw of the base.")
    joints: list[float] = setting(
        factory=lambda: list(REST), unit="rad or m", doc="Initial positions of all 12 joints, fixed ones included."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Fixed joints count, as they do in the files of the reference.
        if len(self.joints) != len(REST):
            raise ConfigError(f"expected {len(REST)} joint positions, got {len(self.joints)}", path="joints")


@dataclass
class ObjectSettings(UsedSettings):
    """The objects in the bin."""

    load_specific_object: bool = setting(False, doc="Use `relative_path_to_object` instead of a random kind.")
    relative_path_to_object: str = setting(
        "", doc="A mesh file (OBJ), or the name of a kind such as sphere or cylinder."
    )
    min_number_of_objects: int = setting(5, low=1, high=MOST_OBJECTS, doc="Smallest number of objects.")
    max_number_of_objects: int = setting(80, low=1, high=MOST_OBJECTS, doc="Largest number of objects.")
    heaps_per_kind: int = setting(
        4, low=1, high=MOST_OBJECTS, doc="Number of different heaps per kind; each is simulated once."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Zero objects are allowed; more at least than at most are not.
        if self.min_number_of_objects > self.max_number_of_objects:
            raise ConfigError(
                f"{self.min_number_of_objects} is more than max_number_of_objects, {self.max_number_of_objects}",
                path="min_number_of_objects",
            )
        if self.load_specific_object and not self.relative_path_to_object:
            raise ConfigError("missing; load_specific_object needs it", path="relative_path_to_object")


@dataclass
class BinSettings(UsedSettings):
    """An empty bin."""

    position: Vector = setting(
        (0.5, 0.3, 0.0), unit="m", doc="Position of its origin, below the middle of its floor, world frame."
    )
    orientation: Vector = setting((0.0, 0.0, 0.0), unit="degrees", doc="Roll, pitch and yaw.")


@dataclass
class PickBinSettings(BinSettings):
    """A bin to pick from."""

    position: Vector = setting(
        (0.5, 0.0, 0.0), unit="m", doc="Position of its origin, below the middle of its floor, world frame."
    )
    objects: ObjectSettings = setting(factory=ObjectSettings, doc="The objects in the bin.")


@dataclass
class SceneSettings(UsedSettings):
    """Bins on the ground."""

    mode: Literal["bin-scene"] = setting("bin-scene", doc="The kind of scene.")
    steps_for_objects_to_fall: int = setting(500, low=1, doc="Maximum number of steps for objects to come to rest.")
    drop_bin_enable: bool = setting(True, doc="Spawn a second, empty bin.")
    bin: PickBinSettings = setting(factory=PickBinSettings, doc="The bin to pick from.")
    drop_bin: BinSettings = setting(factory=BinSettings, doc="The bin to drop into.")


@dataclass
class BinPickingConfig(UsedSettings):
    """All settings of bin picking."""

    simulation: EngineSettings = setting(factory=EngineSettings, doc="The physics engine and rendering.")
    termination: TerminationSettings = setting(factory=TerminationSettings, doc="Conditions that end an episode.")
    camera: PictureSettings = setting(factory=PictureSettings, doc="The camera.")
    arms: dict[str, ArmSettings] = setting(factory=lambda: {"arm_1": ArmSettings()}, doc="The arms by name.")
    scene: SceneSettings = setting(factory=SceneSettings, doc="The bins and their objects.")
    observation: Literal["image", "state"] = setting(
        "image", doc="image: what the camera sees. state: numbers of the arm and of the object nearest to it."
    )
    reward: Literal["standard", "shaped"] = setting(
        "standard",
        doc="standard: -0.1 a step, +1 for a grab, -1 for touching a bin. shaped: also for coming nearer to an object "
        "with open fingers, holding and lifting it, and touching a bin costs more than all steps that are left.",
    )
    discount: float = setting(
        1.0,
        above=0,
        high=1,
        doc="Of the potential of the shaped reward. 1: sums of rewards have the same best policy. That of the learner: "
        "discounted sums do, but then it is as good to wait far from an object as beside it, and harder to learn.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.arms:
            raise ConfigError("expected at least one arm, such as arm-1: {}", path="arms")


# Reads the settings of bin picking from files and mappings. Keys may be written with hyphens or underscores; arms and
# joints are numbered (`arm-1`, `joint-1`).


Section = TypeVar("Section")


def load_bin_picking(config: str | Path | Mapping[str, Any] | BinPickingConfig | None) -> BinPickingConfig:
    """Return the settings in a YAML file, a mapping, or the defaults for None; raises ConfigError."""
    if isinstance(config, BinPickingConfig):
        return config
    if config is None:
        return BinPickingConfig()
    source = "" if isinstance(config, Mapping) else str(config)
    data = config if isinstance(config, Mapping) else load_mapping(resolve_config(config))
    # Keys of files have hyphens, settings have underscores; from here on there are only the latter.
    given = _underscored(data, source)
    arms = given.get("arms")
    if isinstance(arms, dict):
        given["arms"] = {name: _arm(arm, source, f"arms.{name}") for name, arm in arms.items()}
    return read(BinPickingConfig, given, source=source)


def load_section(cls: type[Section], given: Section | Mapping[str, Any], path: str) -> Section:
    """Return one section of the settings: `given` itself, or read from a mapping; raises ConfigError at `path`."""
    if isinstance(given, cls):
        return given
    if not isinstance(given, Mapping):
        raise ConfigError(f"expected {cls.__name__} or a mapping with its keys, got {given!r}", path=path)
    return read(cls, _underscored(given, path=path), path=path)


def as_mapping(config: BinPickingConfig) -> dict[str, Any]:
    """Return the settings as a mapping with hyphens that `load_bin_picking` reads back."""
    # For the type checker: a mapping stays a mapping.
    hyphened = _hyphened(plain(config))
    assert isinstance(hyphened, dict)
    return hyphened


def _hyphened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key).replace("_", "-"): _hyphened(entry) for key, entry in value.items()}
    return value


def _underscored(value: Any, source: str = "", path: str = "") -> Any:
    """Return mappings with keys as Python names; raises ConfigError for a key in both spellings."""
    if not isinstance(value, Mapping):
        return value
    names: dict[str, Any] = {}
    for key, entry in value.items():
        name = str(key).replace("-", "_")
        inner = f"{path}.{name}" if path else name
        if name in names:
            raise ConfigError("given twice, with a hyphen and with an underscore", source=source, path=inner)
        names[name] = _underscored(entry, source, inner)
    return names


def _arm(arm: Any, source: str, path: str) -> Any:
    """Return the settings of an arm with its numbered joints (`joint-1`, ...) as a list.

    If there is a `joint-0`, numbers begin at 0, otherwise at 1.
    """
    joints = arm.get("joints") if isinstance(arm, Mapping) else None
    if not isinstance(joints, Mapping):
        return arm
    # Both ways of counting are found in files of the reference.
    first = 0 if "joint_0" in joints else 1
    names = [f"joint_{number}" for number in range(first, first + len(REST))]
    if set(joints) != set(names):
        given = ", ".join(map(str, joints)).replace("_", "-")
        raise ConfigError(
            f"expected joint-1 to joint-{len(REST)} or joint-0 to joint-{len(REST) - 1}, got {given}",
            source=source,
            path=f"{path}.joints",
        )
    return {**arm, "joints": [joints[name] for name in names]}


_NUMBER = re.compile(r"\d+$")


def arm_number(name: str) -> int:
    """Return the number at the end of an arm's name, else 0; arms are created in that order."""
    found = _NUMBER.search(name)
    return int(found.group()) if found else 0


# What the documents call a Bullet client: here a simulation, or its `bullet`.


Client = MultiRobotSimulationCore | BulletHandle


def simulation_of(client: Client) -> MultiRobotSimulationCore:
    """Return the simulation that `client` is or belongs to; raises InvalidValueError for anything else."""
    found: object = client.owner if isinstance(client, BulletHandle) else client
    if isinstance(found, MultiRobotSimulationCore):
        return found
    raise InvalidValueError(
        f"bullet_client: expected a simulation (MultiRobotSimulationCore) or its `bullet`, got {client!r}. A "
        "connection to PyBullet alone is not enough, as the simulation has to know of what is made"
    )
