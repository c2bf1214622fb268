"""Scenes: ground, bins and arms in one simulation.

The first `reset` makes the bodies; later ones put them back and fill the bin anew. Caches of the engine are cleared, so
that an episode depends on its seed alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.spatial import quaternions
from fleet_sim.learning.manipulation.arm import FrankaArm
from fleet_sim.learning.manipulation.bins import BaseBin, PickBin
from fleet_sim.learning.manipulation.camera import opengl_is_there
from fleet_sim.learning.manipulation.config import BinPickingConfig, Client, arm_number, load_bin_picking, simulation_of
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.joints import DEFAULT_GAIN

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
