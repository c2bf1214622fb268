"""A hall in which everything happens that a state file has to hold."""

from __future__ import annotations

from typing import Any

import fleet_sim as fs

BOX = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
SETTINGS = {"simulation": {"gui": False, "timestep": 0.1}}


class SteadyPlugin(fs.SimPlugin):
    """Counts its steps and moves a crate; what it counted is in saved states."""

    def __init__(self, sim: Any, config: dict[str, Any] | None = None) -> None:
        super().__init__(sim, config)
        self.counted = 0

    def on_step(self, dt: float) -> None:
        """Move the crate by what was counted."""
        self.counted += 1
        crate = self.sim.get_object("moved_by_plugin")
        crate.set_pose(fs.Pose.from_xyz(20.0 + 0.01 * self.counted, 5.0, 0.0))

    def on_reset(self) -> None:
        """Begin again."""
        self.counted = 0

    def state_of(self) -> Any:
        """Return the count."""
        return {"counted": self.counted}

    def take_state(self, state: Any) -> None:
        """Count on."""
        self.counted = state["counted"]


def robot(sim: fs.MultiRobotSimulationCore, name: str, x: float, y: float = 0.0, **params: Any) -> fs.Agent:
    """Spawn a robot."""
    params = {"motion_mode": "omnidirectional", "visual_shape": BOX, "collision_shape": BOX, **params}
    return sim.spawn(fs.AgentSpawnParams(name=name, initial_pose=fs.Pose.from_xyz(x, y, 0), **params))


def fill(sim: fs.MultiRobotSimulationCore) -> None:
    """Put robots with actions, paths, loads, sensors, features and controllers into `sim`, some removed again."""
    a, b = robot(sim, "a", 0.0), robot(sim, "b", 4.0, motion_mode="differential")
    load = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(1, 0, 0), name="load"))
    sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(20, 5, 0), name="moved_by_plugin"))
    a.attach_object(load, keep_world_pose=True)
    a.add_action_sequence(
        [fs.Wait(0.35), fs.MoveTo(fs.Pose.from_xyz(2, 3, 0)), fs.Wait(5.0), fs.MoveTo(fs.Pose.from_xyz(0, 0, 0))]
    )
    b.set_path([fs.Pose.from_yaw(1, 1, 0, 2), fs.Pose.from_yaw(0, 4, 0, 1), fs.Pose.from_yaw(4, 4, 0, 0)])
    robot(sim, "c", 8.0).set_velocity(0.5, wz=0.3, timeout=2.0)
    walker = robot(sim, "walker", 12.0)
    walker.set_controller({"type": "random_walk", "radius": 3.0, "wait_range": [0.0, 0.3]})
    robot(sim, "drained", 14.0, 3.0, features={"battery": {"capacity_wh": 20.0}}).set_goal(fs.Pose.from_xyz(30, 3, 0))
    for index in range(5):
        robot(sim, f"gone_{index}", 40.0 + index)


def change(sim: fs.MultiRobotSimulationCore) -> None:
    """Do to a running simulation what its scenario knows nothing of."""
    for index in range(5):
        sim.remove_object(sim.get_object(f"gone_{index}"))
    late = robot(sim, "late", 41.0, collision_group=2)
    late.add_action(fs.MoveTo(fs.Pose.from_xyz(45, 2, 0), timeout=30.0))
    late.user_data["note"] = {"weight": 2.5, "tags": ["new", None, True]}
    sim.add_sensor("imu", late, rate=5.0)
    sim.set_collision_pair("late", "a", False)
    arm = sim.spawn(
        fs.AgentSpawnParams(name="arm", urdf_path="arm6", initial_pose=fs.Pose.from_xyz(50, 0, 0), use_fixed_base=True)
    )
    arm.add_action(fs.JointAction([0.5] * len(arm.movable_joint_names)))
    sim.get_object("a").set_color((1.0, 0.0, 0.0, 1.0))
