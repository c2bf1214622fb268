"""Franka0Env, Franka1Env, Franka2Env: an arm driven by joint positions, joint velocities, or gripper displacements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from fleet_sim.base.arrays import AnyArray, Bytes, Floats, Ints, as_float, as_floats, as_whole
from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.kernels import load_soon
from fleet_sim.base.params import EngineChoice
from fleet_sim.engines.bullet.handle import BulletHandle
from fleet_sim.learning.envs.shared import begun, check_render_mode
from fleet_sim.learning.manipulation.arm import FrankaArm
from fleet_sim.learning.manipulation.bins import BaseBin, rows_of
from fleet_sim.learning.manipulation.config import BinPickingConfig, as_mapping, load_bin_picking
from fleet_sim.learning.manipulation.scenes import (
    HAND_LINKS,
    HAND_OFFSET,
    MOUNT_OFFSET,
    BinScene,
    Camera,
    mount_on_arm,
    picking_params,
)
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.sensing.sensors.render.shot import MAX_SIDE
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.ports import Contact
from fleet_sim.world.schema import NO_ROW

# BaseGymEnv: an environment around a scene with robots and a camera.


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
        if self.camera is not None:
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
        """Return the camera; it is made when something first needs it."""
        if self.camera is None:
            self.camera = Camera(self.config.camera, self.loaded_scene().sim, self.config.simulation.sim_mode)
            self.camera.reset()
        return self.camera

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


# FrankaBaseEnv: arms that pick objects out of a bin.


STIFFNESS = 0.5
"""Position gain of the arms' motors."""

COLLISION_REWARD, GRAB_REWARD, STEP_REWARD = -1.0, 1.0, -0.1

NUMBERS, LARGEST = 33, 1000.0
"""Of the observation `state`: how many there are, and the largest."""
SIZE, CROWD = 0.02, 20.0
"""Units of the observation `state`: of lengths in m, as far as a finger opens, and of how many objects there are.

Networks learn from numbers of about 1; in m a millimetre is lost among the angles of the joints."""
NEAR, FAR = 10.0, 0.5
"""Shares of the potential: per m nearer to an object, and the distance in m beyond which it counts as this far."""
AROUND, REACH = 2.0, 0.03
"""For bringing the fingers around it, which begins at about this distance in m."""
OPEN, HELD, LIFTED = 1.0, 2.0, 4.0
"""For an open gripper while nothing is held, for holding an object, and for lifting it as high as a grab counts."""
STATE_UNITS: Any = np.ones(NUMBERS, np.float32)
"""By what the numbers of `get_numbers` (33,) are divided in the observation `state`."""
STATE_UNITS[[7, 8, *range(18, 21), *range(24, 27)]], STATE_UNITS[32] = SIZE, CROWD


class FrankaBaseEnv(BaseGymEnv):
    """Base class of environments in which panda arms pick from a bin.

    An episode terminates when an arm touches a bin or after a number of grabs, if the settings enable it, and is
    truncated after `max_steps`. A subclass defines `set_space_attributes` and `step`.
    """

    collision_threshold = 0.0002
    """Contact distance in m (negative: penetration) below which a contact with a bin counts as a collision.

    Contacts with a normal force always count. Both tests are needed: the engine also reports contacts of bodies that
    are only near each other, without a force, and its concave meshes keep pressed bodies up to 0.6 mm away.
    """

    def __init__(
        self,
        config_file: Config = None,
        render_mode: str | None = None,
        max_steps: int = 200,
        engine: EngineChoice | None = None,
    ) -> None:
        self.max_steps = as_whole(max_steps, "max_steps")
        self.steps = 0
        self.completed_grabs = 0
        self.grabs_before_termination = 1
        self._last_info: dict[str, Any] = {}
        self._potential = 0.0
        self._nearest: tuple[SimObject | None, bool] | None = None
        """What `nearest_object` has found, while `finish_step` asks for it more than once."""
        super().__init__(config_file, render_mode, engine)
        self.set_default_arm_configs()

    def set_default_arm_configs(self) -> None:
        """Count the arms of the settings. The scene creates them."""
        self.number_of_arms = len(self.config.arms)

    @property
    def num_arms(self) -> int:
        """Another name of `number_of_arms`."""
        return self.number_of_arms

    def load_scene(self, mode: str = "bin-scene") -> BinScene:
        """Load the scene, with arms whose motors are stiffer than by default."""
        # Who learns makes many steps; without compiled code each takes three times as long.
        load_soon()
        scene = super().load_scene(mode)
        # With the default gain, half of the steps of a small move would be spent on its last millimetre. The gain is
        # set before the arms are created, so that they stand the same way in every episode while the bin is filled.
        scene.arm_gain = STIFFNESS
        return scene

    def reset(
        self, keep_object_type: bool = False, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the number of required grabs is at most the number of objects."""
        self.steps = self.completed_grabs = 0
        observation, _ = super().reset(keep_object_type, seed=seed, options=options)
        self._last_info = {}
        self._potential = self.potential() if self.config.reward == "shaped" else 0.0
        # More grabs than objects could never be made.
        wanted = self.config.termination.terminate_after_successful_grabs.grabs_before_termination
        self.grabs_before_termination = max(1, min(wanted, self.get_current_number_of_objects()))
        return observation, self.get_info()

    def get_info(self) -> dict[str, Any]:
        """Return the info dictionary: `grabs` made and `objects` left."""
        return {"grabs": self.completed_grabs, "objects": self.get_current_number_of_objects()}

    def set_space_attributes(self) -> None:
        """Set the observation space: pictures, or the numbers of `get_numbers`."""
        self.observation_space = gym.spaces.Tuple(picture_spaces(self.config))
        if self.config.observation == "state":
            self.observation_space = gym.spaces.Box(-LARGEST, LARGEST, (NUMBERS,), np.float32)

    def get_state(self) -> Any:
        """Return the camera's colors (H, W, 3) and depth (H, W) in m, or `get_numbers` in STATE_UNITS."""
        if self.config.observation == "state":
            # An observation has to be in its space, wherever the engine throws the arm.
            return np.clip(self.get_numbers() / STATE_UNITS, -LARGEST, LARGEST)
        return self._camera().get_image(get_depth_data=True)

    def get_numbers(self) -> Any:
        """Return the numbers (33,) of the observation `state`, in m, rad and s, in axes of the world.

        Positions and velocities of the nine joints; the point between the fingers from the bin's origin, sine and
        cosine of its yaw, 1 if the gripper is open; then of the object that is nearest to it, of those that the closed
        fingers touch where there are some: where it is from that point, its quaternion with w >= 0, 1 if it is touched,
        and how many objects there are. Without an object the last nine are 0.
        """
        arm, scene = self.robots[0], self.loaded_scene()
        assert scene.pick_bin is not None
        position, angles = arm.get_gripper_state()
        numbers = [*arm.get_position_velocity_state(), *(position - np.array(scene.pick_bin.bin_origin))]
        numbers += [np.sin(angles[2]), np.cos(angles[2]), float(arm.gripper_is_open)]
        thing, touched = self.nearest_object()
        if thing is None:
            numbers += [0.0] * 9
        else:
            pose = thing.get_pose()
            turn = np.array(pose.orientation)
            numbers += [*(np.array(pose.position) - position), *(-turn if turn[3] < 0.0 else turn), float(touched)]
            numbers.append(float(self.get_current_number_of_objects()))
        return np.array(numbers, np.float32)

    def nearest_object(self) -> tuple[SimObject | None, bool]:
        """Return the object nearest to the point between the first arm's fingers, and whether they touch it.

        It is one of those that the closed fingers touch, where there are some. None where there is no object.
        """
        if self._nearest is not None:
            return self._nearest
        arm, scene = self.robots[0], self.loaded_scene()
        assert scene.pick_bin is not None
        things = scene.pick_bin.objects
        if not things:
            return None, False
        places = scene.sim.world.position[rows_of(things)]
        ways = np.square(places - arm.get_gripper_state()[0]).sum(axis=1)
        touched = arm.touched_objects(things)
        # Open fingers that go around an object touch others beside it.
        among = range(len(things)) if arm.gripper_is_open else touched or range(len(things))
        chosen = min(among, key=lambda index: float(ways[index]))
        return things[chosen], chosen in touched

    def potential(self) -> float:
        """Return how good the state is for the shaped reward: 0 with an object held as high as grabs count, else less.

        An object is held by the closed gripper whose fingers touch it from two sides.
        """
        thing, touched = self.nearest_object()
        if thing is None:
            return 0.0
        arm, place = self.robots[0], np.array(thing.get_pose().position)
        if touched and not arm.gripper_is_open and arm.holds(thing):
            scene = self.loaded_scene()
            assert scene.pick_bin is not None
            floor = scene.pick_bin.pose.z
            return -LIFTED * (1.0 - float(np.clip((place[2] - floor) / (self.height_of_grabs() - floor), 0.0, 1.0)))
        off = float(np.linalg.norm(place - arm.get_gripper_state()[0]))
        value = -NEAR * min(off, FAR) - AROUND * np.tanh(off / REACH) - HELD - LIFTED
        return float(value if arm.gripper_is_open else value - OPEN)

    def get_reward(self, info: dict[str, Any] | None = None) -> float:
        """Return the sum of -1 for touching a bin, +1 for a grab, and -0.1 for the step.

        With the setting `reward: shaped`, `info["shaping"]` is added, and touching a bin costs as much as the steps
        that are left, too. `info` is that of `check_termination`; without it that of its last call in this episode.
        """
        if info is None:
            info = self._last_info
        reward = STEP_REWARD + float(info.get("shaping", 0.0))
        if info.get("collision_with_bin"):
            reward += COLLISION_REWARD
            if self.config.reward == "shaped":
                # Or to end an episode early would be better than to go on. Discounted, where they would be.
                left, gamma = max(0, self.max_steps - self.steps), self.config.discount
                reward += STEP_REWARD * (left if gamma == 1.0 else gamma * (1.0 - gamma**left) / (1.0 - gamma))
        if info.get("successful_grab"):
            reward += GRAB_REWARD
        return reward

    def get_current_number_of_objects(self) -> int:
        """Return the number of objects."""
        return self.loaded_scene().current_number_of_objects

    # ---- the end of an episode ---------------------------------------------------------------------------------------

    def check_termination(self) -> Termination:
        """Return whether the episode has ended, and why; as a truth value, whether.

        The second value holds `collision_with_bin`, `successful_grab`, `grab_limit_reached`, `grabs` and `objects`.
        """
        ends = self.config.termination
        hit = any(
            self.check_for_collision_with_bin(arm.arm_id, ends.terminate_on_collision_with_bin.enable)
            for arm in self.robots
        )
        limit_reached, grabbed = self.check_for_successful_grab()
        info = {"collision_with_bin": hit, "grab_limit_reached": limit_reached, "successful_grab": grabbed}
        ended = hit or (ends.terminate_after_successful_grabs.enable and limit_reached)
        self._last_info = {**info, **self.get_info()}
        return Termination(ended, dict(self._last_info))

    def check_for_collision_with_bin(self, arm_id: int, enable: bool = True) -> bool:
        """Return whether the arm with this PyBullet body id touches a bin; False if not `enable`."""
        if not enable:
            return False
        scene = self.loaded_scene()
        row = scene.sim.world.bodies.row_of_body(arm_id)
        if row == NO_ROW:
            return False
        bins = [made.handle for made in scene.bins]
        hits = [contact for contact in scene.sim.engine.contacts(row) if contact.other in bins]
        return self.check_collision_threshold(hits)

    def check_collision_threshold(self, contact_points: Sequence[Any] | None) -> bool:
        """Return whether any contact is a collision: near enough, or with a normal force.

        Contacts are those of `get_contacts`, or tuples of PyBullet's `getContactPoints`.
        """
        known = [(c.distance, c.normal_force) if isinstance(c, Contact) else c[8:10] for c in contact_points or ()]
        return any(distance < self.collision_threshold or force > 0.0 for distance, force in known)

    def check_for_successful_grab(self) -> tuple[bool, bool]:
        """Return whether enough objects have been grabbed, and whether one was grabbed now.

        An object counts if a finger holds it one bin height above the bins and, if the settings require it, still holds
        it after a shake. The object is then removed.
        """
        scene, height = self.loaded_scene(), self.height_of_grabs()
        assert scene.pick_bin is not None
        # Collected first, because a grabbed object is removed from `objects`.
        lifted = [obj for obj in scene.pick_bin.objects if obj.get_pose().z >= height]
        grabbed = False
        for obj in lifted:
            if self.check_arm_obj_collision(scene.pick_bin, obj):
                self.completed_grabs += 1
                grabbed = True
        return self.completed_grabs >= self.grabs_before_termination, grabbed

    def height_of_grabs(self) -> float:
        """Return the height in m above which an object that is held counts as grabbed, world frame."""
        scene = self.loaded_scene()
        assert scene.pick_bin is not None
        return float(max(made.pose.z + made.dimensions[2] for made in scene.bins) + scene.pick_bin.dimensions[2])

    def check_arm_obj_collision(self, b: BaseBin, obj: int | SimObject) -> bool:
        """Return whether an arm holds `obj`, an object of bin `b`; if it is held firmly, it is removed."""
        stable = self.config.termination.terminate_after_successful_grabs.ensure_grab_is_stable
        for arm in self.robots:
            if not arm.check_grab(obj):
                continue
            if stable:
                arm.shake()
                if not arm.check_grab(obj):
                    continue
            self.remove_single_object_from_bin(obj)
            return True
        return False

    def remove_objects_not_in_bins(self) -> None:
        """Remove the objects that are in no bin."""
        self.loaded_scene().remove_objects_not_in_bins()

    def remove_single_object_from_bin(self, obj: int | SimObject) -> None:
        """Remove one object, given as a handle or by its object id."""
        self.loaded_scene().remove_single_object_from_bin(obj)

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def finish_step(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return the result of `step`; to be called after the arm has moved."""
        self.steps += 1
        terminated, info = self.check_termination()
        # Gymnasium allows both; here an episode that ended by itself is not cut off as well.
        truncated = not terminated and self.steps >= self.max_steps
        try:
            if self.config.reward == "shaped":
                # Asked for in the observation, too; nothing moves in between.
                self._nearest = self.nearest_object()
                # The end of an episode has no potential: else it would be worth to end it somewhere.
                before, self._potential = self._potential, 0.0 if terminated else self.potential()
                info["shaping"] = self.config.discount * self._potential - before
                if info["collision_with_bin"]:
                    # What is missing would be given back, and a crash be the best step that a learner has seen yet.
                    info["shaping"] = min(0.0, info["shaping"])
                self._last_info = dict(info)
            return self.get_state(), self.get_reward(info), terminated, truncated, info
        finally:
            self._nearest = None

    def arm(self) -> FrankaArm:
        """Return the first arm; raises InvalidValueError before the first reset."""
        if not self.robots:
            raise InvalidValueError("step() needs a running episode; call reset() first")
        return self.robots[0]

    # ---- the camera --------------------------------------------------------------------------------------------------

    def mount_camera_on_robot(
        self,
        robot_id: int,
        mount_joint_index: int,
        grasp_target_index: int,
        mount_position_offset: float | None = None,
        target_position_offset: float = 0.02,
        fov: float = 40.0,
        near_plane: float = 0.001,
        far_plane: float = 1.0,
    ) -> None:
        """Mount the camera on a link of an arm, pointing at its grasp target. Offsets are along the world's z axis.

        `robot_id` is the arm's PyBullet body id (`arm.arm_id`) or its index in `robots`. By default the camera is
        0.02 m above the link, but 0.05 m below the links of the hand (7, 8), whose body is around the point above. A
        warning is logged if the camera sees only the arm itself.
        """
        arm = next((arm for number, arm in enumerate(self.robots) if robot_id in (arm.arm_id, number)), None)
        if arm is None:
            raise InvalidValueError(f"robot_id: there is no arm {robot_id!r}; there are {len(self.robots)}")
        offset = mount_position_offset
        if offset is None:
            offset = HAND_OFFSET if mount_joint_index in HAND_LINKS else MOUNT_OFFSET
        mount_on_arm(
            self._camera(),
            arm.agent,
            mount_joint_index,
            grasp_target_index,
            offset,
            target_position_offset,
            (fov, near_plane, far_plane),
        )


VELOCITY_LIMIT = 2.0
"""Largest joint velocity of an action, in rad/s or m/s."""


class JointsEnv(FrankaBaseEnv):
    """Base class of environments whose actions are one number for each of the nine joints.

    With `normalized_actions` each number is in [-1, 1], scaled to the range of its joint; the registered Gymnasium ids
    use it. Observations are colors (H, W, 3) and depth (H, W) in m.
    """

    def __init__(
        self,
        config_file: Config = None,
        render_mode: str | None = None,
        max_steps: int = 200,
        normalized_actions: bool = False,
        engine: EngineChoice | None = None,
    ) -> None:
        self.normalized_actions = normalized_actions
        super().__init__(config_file, render_mode, max_steps, engine)

    def joint_range(self) -> tuple[Floats, Floats]:
        # Filled in by subclasses before the spaces are made, which need it.
        """Return the smallest and the largest action of each joint, in its own unit: (9,), (9,)."""
        raise NotImplementedError

    def set_space_attributes(self) -> None:
        """Set the spaces."""
        self._low, self._high = self.joint_range()
        # Spaces of float32, as policies compute; the arm itself gets float64.
        low, high = self._low.astype(np.float32), self._high.astype(np.float32)
        if self.normalized_actions:
            low, high = np.full_like(low, -1.0), np.ones_like(high)
        self.action_space = gym.spaces.Box(low, high, dtype=np.float32)
        super().set_space_attributes()

    def joint_action(self, action: Any) -> list[float]:
        """Return an action, clipped to its space, in the units of the joints."""
        values = as_floats(action, (9,), "action")
        if self.normalized_actions:
            # From [-1, 1] to the range of each joint.
            values = self._low + 0.5 * (values + 1.0) * (self._high - self._low)
        numbers: list[float] = np.clip(values, self._low, self._high).tolist()
        return numbers


class Franka0Env(JointsEnv):
    """Actions are joint positions: seven of the arm in rad, two of the fingers in m.

    Each environment step runs the simulation until the arm has reached them.
    """

    def joint_range(self) -> tuple[Floats, Floats]:
        """Return the joints' limits in rad and m."""
        model = load_robot_model(resolve_urdf("panda"))
        return model.lower[model.movable], model.upper[model.movable]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move all joints to the positions of `action`."""
        self.arm().apply_action_pos(self.joint_action(action))
        return self.finish_step()


class Franka1Env(JointsEnv):
    """Actions are joint velocities: seven of the arm in rad/s, two of the fingers in m/s.

    Each step is one step of the simulation.
    """

    def joint_range(self) -> tuple[Floats, Floats]:
        """Return the velocity limits of the joints in both directions, at most VELOCITY_LIMIT."""
        model = load_robot_model(resolve_urdf("panda"))
        # Fingers are slower than the limit, and some files say nothing of theirs.
        limits = np.minimum(model.max_velocities[model.movable], VELOCITY_LIMIT)
        return -limits, limits

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move all joints at the velocities of `action`."""
        self.arm().apply_action_vel(self.joint_action(action))
        return self.finish_step()


class Franka2Env(FrankaBaseEnv):
    """Actions are gripper displacements: dx, dy, dz up to `dv` m, a rotation up to `da` rad, and open (> 0) or close.

    Observations are a dictionary: `gripper_position` (3,) in m, world frame; `image`, colors of `downsample_height` x
    `downsample_width`; `gripper_open`, 1 or 0.
    """

    def __init__(
        self,
        config_file: Config = None,
        da: float = 0.25,
        dv: float = 0.016,
        downsample_height: int = 64,
        downsample_width: int = 64,
        render_mode: str | None = None,
        max_steps: int = 200,
        engine: EngineChoice | None = None,
    ) -> None:
        # Checked here: below, 0 would be an empty space, and a negative one no error.
        self.da, self.dv = as_float(da, "da in rad", low=1e-6), as_float(dv, "dv in m", low=1e-6)
        self.downsample_height = as_whole(downsample_height, "downsample_height")
        self.downsample_width = as_whole(downsample_width, "downsample_width")
        if max(self.downsample_height, self.downsample_width) > MAX_SIDE:
            raise InvalidValueError(
                f"downsampled images have at most {MAX_SIDE} pixels a side, got "
                f"{downsample_height} x {downsample_width}"
            )
        super().__init__(config_file, render_mode, max_steps, engine)

    def __setattr__(self, name: str, value: object) -> None:
        """Raises AttributeError for what the spaces are made of: agents were built for these."""
        if name in ("da", "dv", "downsample_height", "downsample_width") and "action_space" in vars(self):
            raise AttributeError(f"{type(self).__name__}.{name} counts when the environment is made: give it there")
        super().__setattr__(name, value)

    def set_space_attributes(self) -> None:
        """Set the spaces."""
        self.action_limits: Floats = np.array([self.dv, self.dv, self.dv, self.da, 1.0])
        limits = self.action_limits.astype(np.float32)
        self.action_space = gym.spaces.Box(-limits, limits, dtype=np.float32)
        super().set_space_attributes()
        if self.config.observation == "state":
            return
        size = (self.downsample_height, self.downsample_width, 3)
        self.observation_space = gym.spaces.Dict(
            {
                "gripper_position": gym.spaces.Box(-2.0, 2.0, (3,), np.float32),
                "image": gym.spaces.Box(0, 255, size, np.uint8),
                "gripper_open": gym.spaces.Discrete(2),
            }
        )

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move the gripper by the displacement of `action`, clipped to its space, then open or close it."""
        values = np.clip(as_floats(action, (5,), "action"), -self.action_limits, self.action_limits)
        self.arm().apply_action_delta(values.tolist())
        return self.finish_step()

    def get_state(self) -> Any:
        """Return the position of the gripper, the picture, and whether the gripper is open; or what `state` has."""
        if self.config.observation == "state":
            return super().get_state()
        scene = self.loaded_scene()
        arm = scene.arms[0]
        position = arm.agent.get_link_pose(arm.gripper_index).position
        return {
            # An observation has to be in its space, wherever the engine throws the arm.
            "gripper_position": np.clip(position, -2.0, 2.0).astype(np.float32),
            "image": self.get_image_observation(),
            "gripper_open": np.int64(arm.gripper_is_open),
        }

    def get_image_observation(self) -> Bytes:
        """Return the picture, downsampled by averaging."""
        rgb = self._camera().get_image()
        assert isinstance(rgb, np.ndarray)
        return downsampled(rgb, self.downsample_height, self.downsample_width)


def downsampled(image: Bytes, height: int, width: int) -> Bytes:
    """Return `image` (H, W, 3) at a smaller size: each pixel is the mean of the pixels it covers."""
    rows, columns = _bands(image.shape[0], height), _bands(image.shape[1], width)
    sums = _band_sums(_band_sums(image, rows).swapaxes(0, 1), columns).swapaxes(0, 1)
    counts = np.diff(rows, append=image.shape[0])[:, None] * np.diff(columns, append=image.shape[1])
    # Rounded by the half that is added before the cast.
    mean: Bytes = (sums / counts[:, :, None] + 0.5).astype(np.uint8)
    return mean


def _band_sums(values: AnyArray, starts: Ints) -> AnyArray:
    """Return the sums of the bands of rows of `values` (N, ...) that begin at `starts` (K,): (K, ...).

    The first rows of all bands are added at once, then the second ones: `reduceat` takes twice as long.
    """
    lengths = np.diff(starts, append=len(values))
    least = int(lengths.min())
    sums: AnyArray = np.zeros((len(starts), *values.shape[1:]), np.uint32)
    for place in range(least):
        sums += values[starts + place]
    # Lengths differ by one at most.
    longer = np.flatnonzero(lengths > least)
    sums[longer] += values[starts[longer] + least]
    return sums


def _bands(size: int, count: int) -> Ints:
    """Return the starts of `count` bands of about equal width in `size` pixels."""
    if count > size:
        raise InvalidValueError(f"the camera's picture has {size} pixels; it cannot be brought down to {count}")
    # Whole pixels: bands differ by one at most.
    return np.arange(count) * size // count
