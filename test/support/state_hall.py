"""Halls in which everything happens that a state file has to hold."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import fleet_sim as fs
from fleet_sim.apps.verification import send_idle_robots

BOX = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
SIMULATION = {"gui": False, "monitor": False, "target_rtf": 0, "timestep": 0.1}
CUBE = {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]}

CAR = {"wheelbase": 0.7, "min_turning_radius": 1.3}
ARC = [[2.0 * math.sin(0.1 * i), 2.0 - 2.0 * math.cos(0.1 * i), 0.0, 0.1 * i] for i in range(16)]
ACTIONS: dict[str, dict[str, Any]] = {
    "wait": {"duration": 0.7},
    "turn": {"angle": 1.5},
    "drive_by": {"target": [2.0, 0.0, 0.0], "speed": 0.6},
    "teleop": {"timeout": 2.0},
    "move_to": {"target_pose": [2.0, 0.7, 0.0]},
    "move": {"path": [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]},
    "tour": {"path": [[1.0, 0.2, 0.0], [0.3, 1.0, 0.0]]},
    "follow": {"path": ARC},
    "pick": {"target_object_id": "load of pick", "pick_offset": 0.1},
    "drop": {"drop_pose": [2.0, 0.5, 0.0]},
    "joint": {"target_joint_positions": [0.5, -0.3, 0.4, 0.2, 0.3, -0.2, 0.01, 0.01]},
    "joint_trajectory": {"joint_names": ["joint_1"], "times": [0.9, 2.0], "positions": [[0.7], [-0.4]]},
    "pose": {"target_position": [0.4, 0.3, 0.5]},
}
"""Parameters of every action, in the frame of a robot that begins at the origin of its lane."""
SENSORS: dict[str, dict[str, Any]] = {
    **{kind: {} for kind in ("contact", "lidar", "lidar_3d", "range")},
    "camera": {"width": 16, "height": 12},
    "imu": {"gyro_noise": 0.01},
    "odometry": {"linear_noise": 0.05},
}
"""Sensors of a robot that drives; `force_torque` is on the arm with motors."""


def shifted(parameters: dict[str, Any], y: float) -> dict[str, Any]:
    """Parameters of an action for the lane at `y`."""

    def place(key: str, value: Any) -> Any:
        if key == "path":
            return [place("pose", one) for one in value]
        is_place = key in ("pose", "target_pose", "target_position", "drop_pose")
        return [value[0], value[1] + y, *value[2:]] if is_place else value

    return {key: place(key, value) for key, value in parameters.items()}


def lanes() -> dict[str, Any]:
    """A scenario with a robot for each action, one with all sensors, and one for each feature, law and controller."""
    robots: list[dict[str, Any]] = []
    things: list[dict[str, Any]] = []
    for lane, (kind, parameters) in enumerate(ACTIONS.items()):
        y = 4.0 * lane
        entry: dict[str, Any] = {"name": f"does {kind}", "pose": [0.0, y, 0.0], "shape": CUBE}
        action = {"type": kind, **shifted(parameters, y)}
        before: list[dict[str, Any]] = [{"type": "wait", "duration": 0.2}]
        if kind in ("joint", "joint_trajectory", "pose"):
            entry |= {"urdf_path": "arm6", "use_fixed_base": True}
            del entry["shape"]
        elif kind == "pick":
            things.append({"name": "load of pick", "pose": [2.0, y, 0.0], "shape": CUBE})
        elif kind == "drop":
            things.append({"name": "load of drop", "pose": [0.5, y, 0.0], "shape": CUBE})
            before.append({"type": "pick", "target_object_id": f"load of {kind}", "use_approach": False})
        robots.append({**entry, "actions": [*before, action, {"type": "wait", "duration": 9.0}]})
    at = -4.0
    for more in (
        {"name": "senses", "sensors": [{"type": kind, **given} for kind, given in SENSORS.items()]},
        {"name": "drains", "battery": {"capacity_wh": 20.0}},
        {"name": "patrols", "controller": {"type": "patrol", "waypoints": [[1.0, -9.0, 0.0], [0.0, -9.5, 0.0]]}},
        {"name": "walks", "controller": {"type": "random_walk", "radius": 2.0, "wait_range": [0.0, 0.3]}},
        {"name": "rolls", "urdf_path": "diff_base", "wheels": {"turn": True}},
        {
            "name": "steers",
            "urdf_path": "car",
            "motion_mode": "ackermann",
            "ackermann": {"wheelbase": 0.7, "min_turning_radius": 1.3},
        },
        {"name": "slides", "motion_mode": "omnidirectional"},
        {"name": "slotcar", "motion_mode": "differential", "slotcar": {"speed": 0.7}},
        {"name": "charged", "motion_mode": "differential", "vda5050": {"enabled": True}},
    ):
        entry = {"pose": [0.0, at, 0.0], **more}
        if "urdf_path" not in entry:
            entry["shape"] = CUBE
        if not {"controller", "slotcar", "vda5050"} & entry.keys():
            entry["actions"] = [{"type": "move_to", "target_pose": [5.0, at - 0.5, 0.0, 0.4]}]
        robots.append(entry)
        at -= 3.0
    belt = {"shape_type": "box", "half_extents": [2.0, 0.3, 0.2]}
    things += [
        {"name": "belt", "pose": [10.0, 0.0, 0.2], "shape": belt, "conveyor": {"speed": 0.3}},
        {"name": "parcel", "pose": [10.0, 0.0, 0.5], "shape": CUBE},
        {"name": "lamp", "pose": [10.0, 3.0, 0.5], "shape": CUBE, "light": {"color": [1.0, 0.0, 0.0], "blink": 1.3}},
        {"name": "giver", "pose": [10.0, 6.0, 0.0], "shape": CUBE, "workcell": {"kind": "dispenser"}},
        {"name": "given", "pose": [10.3, 6.0, 0.0], "shape": CUBE},
    ]
    floors = [{"name": "L1", "height": 0.0}, {"name": "L2", "height": 3.0}]
    lift = {"name": "lift", "position": [15.0, 0.0], "floors": floors, "doors": [{"name": "front", "x": -1.0}]}
    door = {"name": "gate", "begin": [10.0, 8.0], "end": [10.0, 10.0], "kind": "double_sliding", "time": 2.0}
    sections = {"robots": robots, "objects": things, "lifts": {"list": [lift]}, "doors": {"list": [door]}}
    sections["vda5050"] = {"fleets": [{"robots": ["charged"], "version": "2.1"}]}
    return {"simulation": {**SIMULATION, "timestep": 0.1}, **sections}


def command_lanes(sim: fs.MultiRobotSimulationCore) -> None:
    """Let happen what no scenario says: what others command, and readings that somebody wants."""
    from master_control import action, header, line

    from fleet_sim.warehouse.equipment import CallLift, MoveDoors, ServeRobot
    from fleet_sim.warehouse.rmf import FollowWaypoints, Waypoint
    from fleet_sim.warehouse.vda5050.order import VehicleMessage

    y, at = sim.get_object("slotcar").get_pose().y, sim.get_object("charged").get_pose().y
    order = line("o", [(0.0, at), (0.5, at), (2.0, at + 0.5)])
    order["nodes"][1]["actions"] = [action("wait", "w", duration=0.7)]
    way = (Waypoint(0.0, y), Waypoint(1.0, y + 0.3), Waypoint(2.0, y, 1.5))
    for command in (
        FollowWaypoints(robot="slotcar", task="t", path=way),
        CallLift(lift="lift", floor="L2"),
        MoveDoors(names=("gate",)),
        ServeRobot(cell="giver", robots=("does wait",), request="a"),
        fs.SetVelocity(names=("does teleop",), linear=[[0.4, 0.0, 0.0]], angular=[[0.0, 0.0, 0.2]]),
        VehicleMessage(
            name="charged", topic="order", text=json.dumps({**header("2.1", "fleet_sim", "charged"), **order})
        ),
    ):
        sim.inbox.put(command)


PILE: dict[str, Any] = {
    "simulation": {**SIMULATION, "physics": True, "timestep": 0.05},
    "robots": [
        {
            "name": "arm",
            "urdf_path": "arm6",
            "use_fixed_base": True,
            "mass": 10.0,
            "motors": {"position_gain": 0.05},
            "sensors": [{"type": "force_torque", "link": "wrist_1_link"}],
            "actions": [{"type": "joint", **ACTIONS["joint"]}],
        },
        {
            "name": "drives",
            "urdf_path": "diff_base",
            "pose": [3.0, 0.0, 0.0],
            "mass": 20.0,
            "actions": [{"type": "move_to", "target_pose": [5.0, 0.3, 0.0]}],
        },
    ],
    "objects": [
        {"name": f"box {z}", "pose": [2.0 + 0.05 * z, 2.0, 0.3 * z + 0.2], "shape": CUBE, "mass": 1.0} for z in range(4)
    ],
}
"""With physics: an arm with motors and a sensor of forces, a robot with wheels, and what falls on each other."""

HALLS: dict[str, dict[str, Any]] = {
    "code": {"simulation": SIMULATION},
    "lanes": lanes(),
    **{engine: {**PILE, "simulation": {**PILE["simulation"], "engine": engine}} for engine in ("bullet", "mujoco")},
}


def step(sim: fs.MultiRobotSimulationCore) -> None:
    """Make a step, with a goal for robots that have nothing to do."""
    send_idle_robots(sim, sim.step_count)
    sim.step_once()


def meddle(sim: fs.MultiRobotSimulationCore) -> None:
    """Do to a simulation what going back to a state has to undo."""
    first, *others, last = sim.agents
    for agent in (first, last, *others[::2]):
        agent.clear_actions()
        agent.set_color((0.0, 1.0, 0.0, 1.0))
        if agent.movable_joint_names:
            agent.joint_tolerance = 0.7
    # PyBullet's own state goes with its bodies: docs/joints.md.
    if not sim.params.physics or sim.params.engine == "mujoco":
        first.set_collision_filter(mask=2)
        sim.set_collision_pair(first, last, True)
        sim.remove_objects([*others[1::2], *list(sim.sim_objects)[-2:]])
        robot(sim, "meddler", -5.0, -5.0).set_goal(fs.Pose((9.0, 0.0, 0.0)))
    step(sim)


def readings(sim: fs.MultiRobotSimulationCore) -> dict[str, str]:
    """A hash of the last reading of each sensor."""
    latest = {sensor.label: repr(sensor.latest) for sensor in sim.sensors.all}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in latest.items()}


def observed(sim: fs.MultiRobotSimulationCore, steps: int) -> list[Any]:
    """Make steps; return all hashes, readings before and after, entities, and what a plugin counted."""
    seen: list[Any] = [readings(sim)]
    for sensor in sim.sensors.all:
        sensor.subscribe()
    for _ in range(steps):
        step(sim)
        seen.append(sim.state_hash())
    entities = {obj.name: type(obj).__name__ for obj in sim.sim_objects}
    return [*seen, readings(sim), entities, [plugin.counted for plugin in sim.plugins]]


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
