"""Franka0Env, Franka1Env, Franka2Env: an arm driven by joint positions, joint velocities, or gripper displacements."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from fleet_sim.arrays import AnyArray, Bytes, Floats, Ints, as_float, as_floats, as_whole
from fleet_sim.config.modes import EngineChoice
from fleet_sim.envs.base_env import Config, picture_spaces
from fleet_sim.envs.franka_base import FrankaBaseEnv
from fleet_sim.errors import InvalidValueError
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.sensors.render.optics import MAX_SIDE

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
        self.observation_space = gym.spaces.Tuple(picture_spaces(self.config))

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
        self._limits = np.array([self.dv, self.dv, self.dv, self.da, 1.0])
        limits = self._limits.astype(np.float32)
        self.action_space = gym.spaces.Box(-limits, limits, dtype=np.float32)
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
        values = np.clip(as_floats(action, (5,), "action"), -self._limits, self._limits)
        self.arm().apply_action_delta(values.tolist())
        return self.finish_step()

    def get_state(self) -> dict[str, Any]:
        """Return the position of the gripper, the picture, and whether the gripper is open."""
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
