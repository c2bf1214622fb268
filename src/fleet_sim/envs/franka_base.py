"""FrankaBaseEnv: arms that pick objects out of a bin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleet_sim.arrays import as_whole
from fleet_sim.config.modes import EngineChoice
from fleet_sim.core.contacts import Contact
from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.envs.base_env import BaseGymEnv, Config, Termination
from fleet_sim.errors import InvalidValueError
from fleet_sim.manipulation.bins import BaseBin
from fleet_sim.manipulation.camera_mount import HAND_LINKS, HAND_OFFSET, MOUNT_OFFSET, mount_on_arm
from fleet_sim.manipulation.franka_arm import FrankaArm
from fleet_sim.manipulation.scenes import BinScene

STIFFNESS = 0.5
"""Position gain of the arms' motors."""

COLLISION_REWARD, GRAB_REWARD, STEP_REWARD = -1.0, 1.0, -0.1


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
        scene = super().load_scene(mode)
        # With the default gain, half of the steps of a small move would be spent on its last millimetre. The gain is
        # set before the arms are created, so that they stand the same way in every episode while the bin is filled.
        scene.arm_gain = STIFFNESS
        return scene

    def reset(
        self, keep_object_type: bool = False, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the number of required grabs is at most the number of objects."""
        observation, _ = super().reset(keep_object_type, seed=seed, options=options)
        self._last_info = {}
        self.steps = self.completed_grabs = 0
        # More grabs than objects could never be made.
        wanted = self.config.termination.terminate_after_successful_grabs.grabs_before_termination
        self.grabs_before_termination = max(1, min(wanted, self.get_current_number_of_objects()))
        return observation, self.get_info()

    def get_info(self) -> dict[str, Any]:
        """Return the info dictionary: `grabs` made and `objects` left."""
        return {"grabs": self.completed_grabs, "objects": self.get_current_number_of_objects()}

    def get_state(self) -> Any:
        """Return the camera's colors (H, W, 3) and depth (H, W) in m."""
        return self._camera().get_image(get_depth_data=True)

    def get_reward(self, info: dict[str, Any] | None = None) -> float:
        """Return the sum of -1 for touching a bin, +1 for a grab, and -0.1 for the step.

        `info` is that of `check_termination`; without it that of its last call in this episode.
        """
        if info is None:
            info = self._last_info
        reward = STEP_REWARD
        if info.get("collision_with_bin"):
            reward += COLLISION_REWARD
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
        scene = self.loaded_scene()
        assert scene.pick_bin is not None
        tops = [made.pose.z + made.dimensions[2] for made in scene.bins]
        height = max(tops) + scene.pick_bin.dimensions[2]
        # Collected first, because a grabbed object is removed from `objects`.
        lifted = [obj for obj in scene.pick_bin.objects if obj.get_pose().z >= height]
        grabbed = False
        for obj in lifted:
            if self.check_arm_obj_collision(scene.pick_bin, obj):
                self.completed_grabs += 1
                grabbed = True
        return self.completed_grabs >= self.grabs_before_termination, grabbed

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
        return self.get_state(), self.get_reward(info), terminated, truncated, info

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
