"""Scenes of bin picking: ground, bins and arms in one simulation, and their camera, above the bin or on an arm.

The first `reset` makes the bodies; later ones put them back and fill the bin anew. Caches of the engine are cleared, so
that an episode depends on its seed alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bytes, Floats, as_floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError, MissingDependencyError, StateError, UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.spatial import quaternions
from fleet_sim.learning.manipulation.arm import FrankaArm
from fleet_sim.learning.manipulation.bins import BaseBin, PickBin
from fleet_sim.learning.manipulation.config import (
    RENDER_MODES,
    SIM_MODES,
    BinPickingConfig,
    Client,
    PictureSettings,
    arm_number,
    load_bin_picking,
    load_section,
    simulation_of,
)
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.sensing.sensors.render.gl import give_back, take_context
from fleet_sim.sensing.sensors.render.shot import Intrinsics, engine_projection, engine_view
from fleet_sim.sensing.sensors.sensor import CameraSensorParams, Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.joints import DEFAULT_GAIN

Depth = npt.NDArray[np.float32]


@cache
def opengl_is_there() -> bool:
    """Return whether cameras can be rendered with OpenGL on this machine; otherwise PyBullet renders them."""
    try:
        # Trying is the only reliable way: a library that can be imported may still have no driver.
        give_back(take_context())
    except (MissingDependencyError, StateError):
        return False
    return True


class Camera:
    """A camera with colors and depth; depth is in m along the optical axis, at most the distance of the far plane."""

    render_modes = RENDER_MODES

    def __init__(
        self, camera_config: PictureSettings | Mapping[str, Any], bullet_client: Client, sim_mode: str = "gpu-headless"
    ) -> None:
        """Add a camera to a simulation, or the one of a `sim.bullet`, at the pose of its settings.

        `camera_config` is settings or a mapping of them.
        """
        self.sim = simulation_of(bullet_client)
        self.config = load_section(PictureSettings, camera_config, "camera_config").in_use("a camera")
        self.sim_mode = _checked_mode(sim_mode)
        self._sensor: Sensor | None = None
        self._name = _free_name(self.sim)
        self._mounted: tuple[CameraSensorParams, Agent | None] | None = None
        self._moved = True
        self.reset()

    def reset(self) -> None:
        """Restore the pose, lens and picture size of the settings."""
        view, projection = self.config.view_matrix, self.config.projection_matrix
        # Kept as attributes, which users change before they apply them.
        self.fov, self.near, self.far = projection.fov, projection.near_plane, projection.far_plane
        self.width, self.height = self.config.width_resolution, self.config.height_resolution
        self.eye = np.array(view.eye_position)
        self.target = np.array(view.target_position)
        self.up = np.array(view.up_vector)
        # A new sensor would lose its subscribers, so the sensor is replaced only if the camera was moved.
        if self._moved:
            self.compute_view_and_projection_matrix()
            self._moved = False

    def compute_view_and_projection_matrix(self) -> None:
        """Apply the attributes `eye`, `target`, `up`, `fov`, ...; the camera is then fixed in the world."""
        eye, target = as_floats(self.eye, (3,), "eye position"), as_floats(self.target, (3,), "target position")
        self._mount(None, -1, eye, look_at(eye, target, as_floats(self.up, (3,), "up vector")))

    @property
    def view_matrix(self) -> list[float]:
        """The current view matrix, also when mounted on an arm, in PyBullet's form: 16 numbers, column by column."""
        agent, link, pose = self._place
        if agent is not None:
            # Anew at each call: the link moves.
            pose = agent.get_link_pose(link).compose(pose)
        return engine_view(np.array(pose.position), np.array(pose.orientation))

    @property
    def projection_matrix(self) -> list[float]:
        """The projection matrix of the lens in PyBullet's form: 16 numbers, column by column."""
        return engine_projection(self._lens, self.near, self.far)

    def mount_on(
        self, agent: Agent, link: int | str, position: Floats, orientation: Floats, fov: float, near: float, far: float
    ) -> None:
        """Mount the camera on a link; (3,), (4,) are the pose of its optical frame in the frame of the link."""
        self.fov, self.near, self.far = fov, near, far
        self._mount(agent, link, position, orientation)

    def _mount(self, agent: Agent | None, link: int | str, position: Floats, orientation: Floats) -> None:
        """Mount the sensor anew at a pose in the frame of `link`; where that fails the old one is mounted again."""
        lens = self._lens
        place = agent, link, Pose(np.asarray(position).tolist(), np.asarray(orientation).tolist())
        params = CameraSensorParams(
            name=self._name,
            rate=None,
            width=self.width,
            height=self.height,
            intrinsics=(lens.fx, lens.fy, lens.cx, lens.cy),
            near=self.near,
            far=self.far,
            frame="optical",
            renderer="tiny" if self.sim_mode == "cpu-headless" else "auto",
            link=link,
            pose=place[2],
        )
        # The pose of a sensor is fixed when it is added, so a camera that is moved is a new one.
        if self._sensor is not None:
            self.sim.remove_sensor(self._sensor)
        try:
            self._sensor = self.sim.add_sensor(params, agent)
        except FleetSimError:
            # It stays where it was, so that a refused move leaves a camera that works.
            if self._mounted is not None:
                self._sensor = self.sim.add_sensor(*self._mounted)
            raise
        self._place, self._mounted, self._moved = place, (params, agent), True
        # Made here: checking settings takes longer than rendering depth.
        self._colors_only = replace(params, channels=("rgb",))

    @property
    def _lens(self) -> Intrinsics:
        return Intrinsics.from_vertical_fov(self.width, self.height, float(np.radians(self.fov)))

    @property
    def intrinsics(self) -> Floats:
        """The matrix K (3, 3) of its pictures."""
        return self._lens.matrix

    @property
    def sensor(self) -> Sensor:
        """The camera as a sensor of the simulation, for interfaces such as ROS."""
        assert self._sensor is not None
        return self._sensor

    def read(self) -> Any:
        """Take a picture now; a CameraReading."""
        return self.sensor.read()

    def get_image(self, sim_mode: str | None = None, get_depth_data: bool = False) -> Bytes | tuple[Bytes, Depth]:
        """Return colors (H, W, 3), and with `get_depth_data` also depth (H, W) in m.

        With the setting `scale_depth_data` depth is a grey picture instead: 0 at the near plane, 255 at the far one.
        Without depth only the colors are rendered, and `sensor.latest` stays what it was.
        """
        if sim_mode is not None:
            _checked_mode(sim_mode)
        # Only whether PyBullet draws matters here; both other modes draw in the same way.
        if sim_mode is not None and (sim_mode == "cpu-headless") != (self.sim_mode == "cpu-headless"):
            raise InvalidValueError(
                f"sim_mode: this camera draws as in {self.sim_mode!r}, not {sim_mode!r}; say so when it is made"
            )
        if not get_depth_data:
            colors = self.sim.sensors.read_with(self.sensor, self._colors_only)
            rgb: Bytes = colors.rgb
            return rgb
        reading = self.read()
        # Where the ray meets nothing the depth is infinite, which no picture can show.
        depth = np.minimum(reading.depth, np.float32(self.far))
        if self.config.scale_depth_data:
            depth = (255.0 * (depth - self.near) / (self.far - self.near)).astype(np.float32)
        return reading.rgb, depth

    def render(
        self, sim_mode: str | None = None, mode: str = "rgb_array", get_depth_data: bool = False
    ) -> Bytes | tuple[Bytes, Depth] | None:
        """Return a picture as `get_image` does, or None in mode "human", where the window shows the scene."""
        if mode not in self.render_modes:
            raise InvalidValueError(f"mode: expected one of {', '.join(self.render_modes)}, got {mode!r}")
        # A person looks at the window, so there is nothing to return.
        if mode == "human":
            return None
        return self.get_image(sim_mode, get_depth_data or mode == "rgb_and_depth_arrays")


def _checked_mode(sim_mode: str) -> str:
    if sim_mode not in SIM_MODES:
        raise InvalidValueError(f"sim_mode: expected one of {', '.join(SIM_MODES)}, got {sim_mode!r}")
    return sim_mode


def _free_name(sim: MultiRobotSimulationCore) -> str:
    """Return a name that no sensor fixed in the world has: "picking_camera", "picking_camera_2", ..."""
    for number in count(1):
        name = "picking_camera" if number == 1 else f"picking_camera_{number}"
        try:
            sim.get_sensor(name)
        except UnknownNameError:
            return name
    raise AssertionError("unreachable")


def look_at(eye: Floats, target: Floats, up: Floats) -> Floats:
    """Return the orientation (4,) of an optical frame (x right, y down, z forward) at `eye` that points at `target`.

    Raises InvalidValueError if `eye` equals `target`, or `up` is parallel to the viewing direction.
    """
    forward = np.asarray(target, np.float64) - np.asarray(eye, np.float64)
    right = np.cross(forward, up)
    # Along its own up vector a camera has no right; `not ... >` refuses NaN as well.
    if not forward.any() or not np.linalg.norm(right) > 1e-9 * np.linalg.norm(forward):
        raise InvalidValueError(f"a camera at {eye} cannot look at {target} with {up} up; change one of them")
    forward /= np.linalg.norm(forward)
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    return quaternions.from_matrix(np.stack([right, down, forward], axis=1))


# Mounts the camera of a scene on a link of an arm.


log = logging.getLogger("fleet_sim.learning.manipulation")

MOUNT_OFFSET = 0.02
"""Height in m of the camera above the link it is mounted on."""
HAND_LINKS, HAND_OFFSET = (7, 8), -0.05
"""The flange and the hand of the panda, and the height of the camera above them: 2 cm above is inside the hand."""
VISIBLE = 0.9
"""The farthest point of a picture is at least this fraction of the way to the target, or the arm itself fills it."""


def mount_on_arm(
    camera: Camera,
    agent: Agent,
    mount: int,
    target: int,
    mount_offset: float,
    target_offset: float,
    lens: tuple[float, float, float],
) -> None:
    """Mount `camera` on the link `mount`, pointing at the link `target`; it moves with the arm from now on.

    Offsets in m are along the world's z axis; `lens` is the field of view in degrees and the distances of the near and
    the far plane in m. Logs a warning if the camera sees nothing but the arm itself.
    """
    link, aimed = agent.get_link_pose(mount), agent.get_link_pose(target)
    # Above in the world, whichever way the link is turned.
    eye = np.array(link.position) + [0.0, 0.0, mount_offset]
    aim = np.array(aimed.position) + [0.0, 0.0, target_offset]
    # A camera that looks straight up or down cannot have z as its up vector.
    is_vertical = np.hypot(*(aim - eye)[:2]) < 1e-6
    orientation = look_at(eye, aim, np.array([1.0, 0.0, 0.0] if is_vertical else [0.0, 0.0, 1.0]))
    # The camera's pose in the frame of the link.
    back = quaternions.conjugate(np.array([link.orientation]))
    position = quaternions.rotate(back, (eye - np.array(link.position))[None])[0]
    camera.mount_on(agent, mount, position, quaternions.multiply(back, orientation[None])[0], *lens)
    # One picture now: a camera inside of the arm is a mistake that no setting shows.
    farthest = float(np.max(camera.read().depth))
    if farthest < VISIBLE * float(np.linalg.norm(aim - eye)):
        log.warning(
            "the camera on link %d sees nothing beyond %.3f m: it is inside the arm; change mount_position_offset, %g",
            mount,
            farthest,
            mount_offset,
        )


# Scenes.


ENGINE_PARAMS = (
    "gui",
    "enable_gui_panel",
    "gravity",
    "timestep",
    "physics_substep",
    "solver_iterations",
    "contact_erp",
)
"""Settings of a simulation that follow from the configuration of its engine."""


def picking_params(config: BinPickingConfig, **settings: Any) -> SimulationParams:
    """Return the simulation settings for bin picking; `settings` override them."""
    engine = config.simulation
    own: dict[str, Any] = {
        "gui": engine.sim_mode == "gpu-gui",
        "engine": engine.engine,
        "monitor": False,
        "enable_gui_panel": engine.enable_windows,
        "physics": True,
        "gravity": engine.gravity,
        "timestep": engine.timestep,
        "physics_substep": engine.timestep / engine.number_of_sub_steps,
        # Visual meshes of the panda take ten times as long to load as the rest; only PyBullet's renderer needs them.
        "engine_visuals": engine.sim_mode == "cpu-headless" or not opengl_is_there(),
        "solver_iterations": engine.number_of_solver_iterations,
        "contact_erp": engine.contact_erp,
        # As fast as it can: nobody watches a clock.
        "target_rtf": 0.0,
        # Contacts are asked of the engine.
        "collision_check_frequency": 0.0,
        # Episodes begin by `reset` of the scene, not of the simulation.
        "keep_initial_state": False,
    }
    return SimulationParams(**{**own, **settings})


def check_engine(config: BinPickingConfig, params: SimulationParams) -> None:
    """Raise InvalidValueError where `config` asks for another engine than the one of a simulation with `params`."""
    wanted, usual = picking_params(config), picking_params(BinPickingConfig())
    for name in ENGINE_PARAMS:
        value = getattr(wanted, name)
        # What is as usual was most likely not asked for: a simulation of one's own may have anything.
        if value != getattr(usual, name) and value != getattr(params, name):
            raise InvalidValueError(
                f"simulation: the configuration asks for {name}={value!r}, and the given simulation has "
                f"{getattr(params, name)!r}; make it alike, or leave bullet_client out"
            )


class BaseScene:
    """An empty scene. A subclass loads bodies and then sets `loaded`."""

    def __init__(
        self, bullet_client: Client | None = None, config: BinPickingConfig | Mapping[str, Any] | str | None = None
    ) -> None:
        """Use a simulation or the one of a `sim.bullet`, or create one with physics.

        Raises InvalidValueError where `config` sets something of the engine that the given simulation has otherwise.
        """
        self.config = load_bin_picking(config).in_use("a scene")
        if bullet_client is None:
            self.sim = MultiRobotSimulationCore(picking_params(self.config))
        else:
            self.sim = simulation_of(bullet_client)
            check_engine(self.config, self.sim.params)
        self.loaded = False

    def configure_renderer(self, disable_rendering: bool = True) -> None:
        """Stop drawing in the window while bodies are loaded, or continue; does nothing without a window."""
        self.sim.bullet.set_rendering(not disable_rendering)

    def reset(self, keep_object_type: bool = False, rng: np.random.Generator | None = None) -> None:
        """Reset the scene; a subclass resets its bodies first."""
        self.configure_renderer(False)


class BinScene(BaseScene):
    """A bin to pick from, a bin to drop into, and the arms around them, on the ground."""

    plane_urdf = "plane.urdf"

    def __init__(
        self, bullet_client: Client | None = None, config: BinPickingConfig | Mapping[str, Any] | str | None = None
    ) -> None:
        """Prepare the scene; the first `reset` loads it."""
        super().__init__(bullet_client, config)
        self.ground = -1
        self.pick_bin: PickBin | None = None
        self.drop_bin: BaseBin | None = None
        self.arms: list[FrankaArm] = []
        self.arm_gain = DEFAULT_GAIN
        """How stiff the motors of the arms are that are made, see `FrankaArm.stiffen`."""
        self.current_number_of_objects = 0

    @property
    def bin_with_objs(self) -> PickBin | None:
        """Another name of `pick_bin`."""
        return self.pick_bin

    @property
    def ground_id(self) -> int:
        """Another name of `ground`."""
        return self.ground

    @property
    def bins(self) -> list[BaseBin]:
        """The existing bins."""
        return [made for made in (self.pick_bin, self.drop_bin) if made is not None]

    def load_ground(self) -> None:
        """Store the PyBullet body id of the ground, which the simulation loads (`plane_urdf`); -1 with MuJoCo."""
        self.ground = self.sim.engine.floor_id()

    def load_bins(self) -> None:
        """Create the bins."""
        scene, engine = self.config.scene, self.config.simulation
        self.pick_bin = PickBin(scene.bin, self.sim, engine.ml_mode, scene.steps_for_objects_to_fall, "pick_bin")
        if scene.drop_bin_enable:
            self.drop_bin = BaseBin(scene.drop_bin, self.sim, "drop_bin")

    def load_arms(self) -> None:
        """Create the arms in the order of their numbers; their workspace is the bin to pick from."""
        assert self.pick_bin is not None
        # By number: arm_10 is after arm_2.
        for name in sorted(self.config.arms, key=lambda name: (arm_number(name), name)):
            arm = self.config.arms[name]
            orientation = quaternions.from_eulers(np.radians([arm.orientation]))[0]
            self.arms.append(
                FrankaArm(
                    arm.position,
                    orientation.tolist(),
                    self.sim,
                    arm.joints,
                    arm.get_end_effector_force_sensor_readings,
                    arm.clip_delta_actions_to_workspace,
                    self.pick_bin.bin_origin,
                    self.pick_bin.dimensions.tolist(),
                    name=name,
                )
            )
            self.arms[-1].stiffen(self.arm_gain)

    def reset(self, keep_object_type: bool = False, rng: np.random.Generator | None = None) -> None:
        """Reset arms and bins and fill the bin to pick from; the first call creates everything."""
        self.configure_renderer(True)
        if not self.loaded:
            self._load()
        assert self.pick_bin is not None
        for arm in self.arms:
            arm.reset()
        if self.drop_bin is not None:
            self.drop_bin.reset(keep_object_type)
        self.pick_bin.reset(keep_object_type, rng)
        for arm in self.arms:
            # Filling the bin may have stepped the simulation, and the arms with it.
            arm.reset()
        # The engine's caches are cleared, so that an episode depends only on its seed.
        self.sim.rebuild_engine()
        for arm in self.arms:
            if arm.reads_forces:
                arm.enable_joint_force_torque_sensor_on_end_effectors()
        if self.config.simulation.objects_sleep:
            self.pick_bin.put_to_sleep()
        self.remove_objects_not_in_bins()
        super().reset(keep_object_type, rng)

    def _load(self) -> None:
        """Create everything, or nothing: a model may be missing, and the next reset tries again."""
        before = {thing.object_id for thing in self.sim.sim_objects}
        try:
            self.load_bins()
            self.load_arms()
            self.load_ground()
        except Exception:
            self.sim.remove_objects([thing for thing in self.sim.sim_objects if thing.object_id not in before])
            self.pick_bin, self.drop_bin, self.arms = None, None, []
            raise
        self.loaded = True

    def remove_objects_not_in_bins(self) -> int:
        """Remove the objects that are in no bin (L x W x 2 H); returns how many."""
        assert self.pick_bin is not None
        objects = self.pick_bin.objects
        positions = np.array([thing.get_pose().position for thing in objects]).reshape(-1, 3)
        kept = np.zeros(len(objects), np.bool_)
        for made in self.bins:
            kept |= made.contains_mask(positions)
        gone = [thing for thing, stays in zip(objects, kept.tolist(), strict=True) if not stays]
        for thing in gone:
            self.pick_bin.remove_single_object(thing)
        self.current_number_of_objects = self.pick_bin.number_of_objects
        return len(gone)

    def remove_single_object_from_bin(self, obj: int | SimObject) -> None:
        """Remove one object, given as a handle or by its object id."""
        assert self.pick_bin is not None
        self.pick_bin.remove_single_object(obj)
        self.current_number_of_objects = self.pick_bin.number_of_objects
