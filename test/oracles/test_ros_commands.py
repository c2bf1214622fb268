"""What arrives on topics: what moves by it, in closed form, what is refused, and what motors and batteries tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")

from geometry_msgs.msg import Pose, PoseStamped, TransformStamped, Twist
from heard_node import HeardNode, heard_node
from mimic_robots import mimic_file
from nav_msgs.msg import Path
from plain_geometry import matrix, yawed
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import serialize_message
from ros_domain import use_own_domain
from sensor_msgs.msg import BatteryState, JointState
from shape_msgs.msg import SolidPrimitive
from simulation_interfaces.msg import EntityState
from simulation_interfaces.srv import SetEntityState, SpawnEntity
from std_msgs.msg import ColorRGBA
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import fleet_sim as fs
from fleet_sim_msgs.msg import FleetCommand
from fleet_sim_msgs.srv import Attach, Delete, Spawn

use_own_domain()

DT, G = 0.05, 9.81
OMNI, DIFF, HEAVY, ARM = (1.3, -0.4, 0.6), (-2.1, 3.4, 0.15), (5.2, -3.1, 0.1), (-7.0, -6.0, 0.4)
YAW = {"omni": 0.7, "diff": -0.4, "heavy": 0.3}
MOUNT = (0.03, 0.02, 0.05, 0.7)
"""Of the force/torque sensor, in the frame of its link."""
BATTERY = {"capacity_wh": 2.0, "level": 0.9985, "idle_power": 41.0, "drive_energy": 0.0, "charge_power": 203.0}
VOLTS, LIMITS = 29.0, {"max_linear_vel": 9.0, "max_linear_accel": 1e4, "max_angular_accel": 1e4}


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    folder = tmp_path_factory.mktemp("commands")
    box = {"shape_type": "box", "half_extents": [0.2, 0.15, 0.1]}
    joints = (("stiff", "fixed", ""), ("turn", "revolute", ""), ("slide", "prismatic", ""))

    def robot(name: str, place: Any, law: str, **more: Any) -> dict[str, Any]:
        entry = {"name": name, "pose": [*place, YAW[name]], "shape": box, "motion_mode": law}
        return {**entry, "max_angular_vel": 9.0, **LIMITS, **more}

    sensor = {"type": "force_torque", "link": "stiff_link", "pose": [*MOUNT], "rate": None}
    arm = {
        "name": "arm",
        "urdf_path": mimic_file(folder, *joints),
        "pose": [*ARM],
        "use_fixed_base": True,
        "mass": None,
    }
    scenario = {
        "simulation": {"gui": False, "timestep": DT, "physics": True},
        "battery": {"publish_rate": None},
        "ros": {
            "rates": {"clock": None, "joint_states": None, "diagnostics": None, "odom": 4.0},
            "cmd_vel_timeout": 0.3,
            "robot_diagnostics": True,
        },
        "robots": [
            robot("omni", OMNI, "omnidirectional", mass=0.0, battery={**BATTERY, "voltage": VOLTS}),
            robot("diff", DIFF, "differential", mass=0.0),
            robot("heavy", HEAVY, "omnidirectional", mass=7.0),
            {**arm, "sensors": [sensor]},
        ],
    }
    with heard_node(folder, scenario) as heard:
        heard.step(12)
        yield heard


def place(node: HeardNode, name: str) -> Any:
    return np.array(node.sim.get_object(name).position)


def send(node: HeardNode, topic: str, message: Any, happened: Callable[[], Any], *, times: int = 1) -> None:
    """Publish a message on a topic that the node reads, and make steps until something happened, one second at most."""
    kind = Twist if isinstance(message, bytes) else type(message)
    publisher = node.listener.create_publisher(kind, topic, 10)
    node.until(publisher.get_subscription_count)
    for _ in range(times):
        publisher.publish(message)
    for _ in range(20):
        node.step()
        if happened():
            break
    else:
        pytest.fail(f"nothing came of {topic}")
    node.listener.destroy_publisher(publisher)


def refusals(node: HeardNode) -> int:
    values = {one.key: one.value for one in node.heard["/diagnostics"][-1].status[0].values}
    return int(values["refused_commands"])


def refused(node: HeardNode, topic: str, message: Any) -> None:
    """Assert that a message is refused and moves nothing."""
    known = refusals(node)
    before = {one.name: one.get_pose() for one in node.sim.agents if one.name != "heavy"}
    send(node, topic, message, lambda: refusals(node) > known)
    node.step(2)
    assert refusals(node) == known + 1
    assert {one.name: one.get_pose() for one in node.sim.agents if one.name != "heavy"} == before


def twist(*numbers: float) -> Twist:
    made = Twist()
    made.linear.x, made.linear.y, made.linear.z, made.angular.x, made.angular.y, made.angular.z = map(float, numbers)
    return made


def moves(node: HeardNode, name: str) -> bool:
    row = node.sim.get_object(name).row
    return bool(node.sim.world.velocity[row].any() or node.sim.world.angular_velocity[row].any())


def pose(position: Any, yaw: float = 0.0) -> Pose:
    made = Pose()
    made.position.x, made.position.y, made.position.z = map(float, position)
    made.orientation.z, made.orientation.w = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return made


@pytest.mark.parametrize(
    ("name", "used"), [("omni", (0.31, -0.22, 0.13, 0.4, -0.3, 0.6)), ("diff", (0.31, 0.0, 0.0, 0.0, 0.0, 0.6))]
)
@holds("api:Agent.velocity", fault="ros/robot_commands.py: angular before linear; the timeout of the robot")
def test_a_twist_is_what_its_law_uses_of_it_and_ends(node: HeardNode, name: str, used: Any) -> None:
    node.sim.get_object(name).set_pose(node.sim.get_object(name).get_pose())
    send(node, f"/{name}/cmd_vel", twist(0.31, -0.22, 0.13, 0.4, -0.3, 0.6), lambda: moves(node, name))
    begin, world, row = node.sim.sim_time, node.sim.world, node.sim.get_object(name).row
    turn = matrix(world.orientation[row])
    assert turn.T @ world.velocity[row] == pytest.approx(used[:3], abs=0.012)
    assert turn.T @ world.angular_velocity[row] == pytest.approx(used[3:], abs=0.012)
    while moves(node, name):
        node.step()
    # 0.3 s after the step in which it arrived.
    assert node.sim.sim_time - begin == pytest.approx(0.3, abs=DT + 1e-9)


def test_a_robot_on_the_ground_takes_no_twist_out_of_its_plane_and_others_take_theirs(node: HeardNode) -> None:
    known = refusals(node)
    publisher = node.listener.create_publisher(Twist, "/heavy/cmd_vel", 10)
    node.until(publisher.get_subscription_count)
    for number, component in enumerate((2, 3, 4)):
        numbers = [0.31, -0.22, 0.0, 0.0, 0.0, 0.5]
        numbers[component] = 0.2
        # Both in one step: one of them is refused, the other drives.
        publisher.publish(twist(*numbers))
        send(node, "/diff/cmd_vel", twist(0.3, 0.0, 0.0, 0.0, 0.0, 0.0), lambda: moves(node, "diff"))
        while moves(node, "diff"):
            node.step()
        assert refusals(node) == known + 1 + number
    begin = place(node, "heavy")
    assert begin[:2] == pytest.approx(HEAVY[:2], abs=1e-3)
    publisher.publish(twist(0.31, -0.22, 0.0, 0.0, 0.0, 0.0))
    node.step(5)
    way = yawed(node.sim.get_object("heavy").get_pose().yaw) @ [0.31, -0.22, 0.0]
    assert node.sim.get_object("heavy").velocity == pytest.approx(way, abs=0.02)


def test_what_is_wrong_is_refused_and_moves_nothing(node: HeardNode) -> None:
    node.step(8)
    refused(node, "/omni/cmd_vel", twist(math.nan, 0.0, 0.0, 0.0, 0.0, 0.0))
    refused(node, "/omni/cmd_vel", bytes(serialize_message(twist(0.3, 0.0, 0.0, 0.0, 0.0, 0.0))[:-8]))
    refused(node, "/omni/goal_pose", PoseStamped(header=_header("moon")))
    refused(node, "/omni/path", Path())
    for names, positions, velocities in ((["turn"], [9.0], []), (["elbow"], [0.1], []), (["turn"], [0.1, 0.2], [])):
        refused(node, "/arm/joint_commands", JointState(name=names, position=positions, velocity=velocities))


def _header(frame: str) -> Any:
    header = PoseStamped().header
    header.frame_id = frame
    return header


def test_goals_are_in_their_frames(node: HeardNode) -> None:
    """Frames of the simulation, and those of other nodes below, beside and above the map."""
    omni = node.sim.get_object("omni")

    def arrived(goal: Any) -> Callable[[], bool]:
        return lambda: bool(np.abs(place(node, "omni") - goal).max() < 1e-6)

    def link(parent: str, child: str, position: Any, yaw: float) -> TransformStamped:
        made = TransformStamped(child_frame_id=child, header=_header(parent))
        at, made.transform.rotation = pose(position, yaw), pose(position, yaw).orientation
        moved = made.transform.translation
        moved.x, moved.y, moved.z = at.position.x, at.position.y, at.position.z
        # As long as others make it.
        made.transform.rotation.z, made.transform.rotation.w = 1.3 * at.orientation.z, 1.3 * at.orientation.w
        return made

    frames = [link("map", "dock", (4.0, 1.5, 0.2), 0.9), link("hall", "map", (2.0, -1.0, 0.1), 0.4)]
    frames += [link("hall", "desk", (5.0, 0.3, 0.0), -0.6), link("diff/base_link", "mast", (0.5, 0.2, 0.3), 0.2)]
    frames += [link("desk", "lamp", (0.2, 0.7, 0.1), 0.3)]
    publisher = node.listener.create_publisher(TFMessage, "/tf", 10)
    # The node subscribes within half a second of its own.
    node.until(lambda: node.step() or node.node.count_subscribers("/tf") > 1)
    publisher.publish(TFMessage(transforms=frames))
    local = np.array([0.6, -0.35, 0.25])
    diff, turn = place(node, "diff"), yawed(node.sim.get_object("diff").get_pose().yaw)
    hall = yawed(0.4).T @ (local - [2.0, -1.0, 0.1])
    desk = yawed(0.4).T @ (np.array([5.0, 0.3, 0.0]) + yawed(-0.6) @ local - [2.0, -1.0, 0.1])
    on_desk = np.array([0.2, 0.7, 0.1]) + yawed(0.3) @ local
    lamp = yawed(0.4).T @ (np.array([5.0, 0.3, 0.0]) + yawed(-0.6) @ on_desk - [2.0, -1.0, 0.1])
    for frame, goal in (
        ("", local),
        ("diff/base_link", diff + turn @ local),
        ("diff/odom", local),
        ("dock", np.array([4.0, 1.5, 0.2]) + yawed(0.9) @ local),
        ("mast", diff + turn @ (np.array([0.5, 0.2, 0.3]) + yawed(0.2) @ local)),
        ("hall", hall),
        ("lamp", lamp),
        ("desk", desk),
    ):
        goal_message = PoseStamped(header=_header(frame), pose=pose(local, 0.5))
        send(node, "/omni/goal_pose", goal_message, arrived(goal))
    assert omni.get_pose().yaw == pytest.approx(0.5 - 0.6 - 0.4)
    path = Path(header=_header("dock"))
    path.poses = [PoseStamped(pose=pose(local)), PoseStamped(header=_header("map"), pose=pose((0.1, 0.2, 0.3), 0.4))]
    seen: list[float] = []
    first = np.array([4.0, 1.5, 0.2]) + yawed(0.9) @ local

    def followed() -> bool:
        seen.append(float(np.linalg.norm(place(node, "omni") - first)))
        return arrived((0.1, 0.2, 0.3))()

    send(node, "/omni/path", path, followed)
    assert min(seen) < 9.0 * DT and omni.get_pose().yaw == pytest.approx(0.4)


def test_commands_to_the_fleet_do_what_their_kind_says(node: HeardNode) -> None:
    publisher = node.listener.create_publisher(FleetCommand, "/fleet/command", 10)
    node.until(publisher.get_subscription_count)
    omni = node.sim.get_object("omni")

    def command(kind: int, **more: Any) -> Any:
        known = len(node.heard["/fleet/command_result"])
        publisher.publish(FleetCommand(kind=kind, command_id="c7", **more))
        while len(node.heard["/fleet/command_result"]) == known:
            node.step()
        return node.heard["/fleet/command_result"][-1]

    answer = command(FleetCommand.SET_POSES, names=["omni", "ghost"], poses=[pose(OMNI, 0.7), pose(OMNI)])
    assert (answer.command_id, list(answer.accepted), list(answer.rejected)) == ("c7", ["omni"], ["ghost"])
    assert omni.position == pytest.approx(OMNI) and omni.get_pose().yaw == pytest.approx(0.7)
    # With a time of its own, with that of the settings, and for ever.
    for timeout, steps in ((0.5, 10), (-1.0, 6), (0.0, None)):
        assert not command(
            FleetCommand.VELOCITY, names=["omni"], twists=[twist(0.3, 0.2, 0, 0, 0, 0)], timeout=timeout
        ).error
        count = 0
        while moves(node, "omni") and count < 40:
            node.step()
            count += 1
        assert count == pytest.approx(steps or 40, abs=1)
    command(FleetCommand.STOP, names=["omni"])
    assert not moves(node, "omni")
    where = place(node, "omni")
    command(FleetCommand.NAVIGATE, names=["omni"], poses=[pose((0.5, 0.4, -0.1))], header=_header("omni/base_link"))
    node.step(3)
    assert place(node, "omni") == pytest.approx(where + yawed(0.7) @ [0.5, 0.4, -0.1])
    for wrong in ({"kind": 99}, {"kind": FleetCommand.VELOCITY, "twists": []}, {"kind": FleetCommand.NAVIGATE}):
        assert command(wrong.pop("kind"), names=["omni"], **wrong).error
    assert command(FleetCommand.VELOCITY, names=["omni"], twists=[twist(0.3, 0, 0, 0, 0, 0)], timeout=math.nan).error


def test_what_requests_of_services_carry_arrives_in_its_field(node: HeardNode) -> None:
    """Where entities are spawned and placed, in the frame of another one; their sizes, colors and who is near."""
    at, frame = np.array([0.6, -0.35, 0.25]), node.sim.get_object("diff").get_pose()
    q = np.array([1.0, -2.0, 3.0, 4.0]) / math.sqrt(30.0)
    place_in = PoseStamped(header=_header("diff/base_link"), pose=pose(at))
    for axis, value in zip("xyzw", q.tolist(), strict=True):
        setattr(place_in.pose.orientation, axis, value)
    turn = yawed(frame.yaw)

    def ask(kind: Any, name: str, request: Any) -> Any:
        client = node.listener.create_client(kind, name)
        node.until(client.service_is_ready)
        answer = client.call_async(request)
        while not answer.done():
            node.step()
        node.listener.destroy_client(client)
        return answer.result()

    def stands(name: str) -> None:
        found = node.sim.get_object(name).get_pose()
        assert found.position == pytest.approx(frame.position + turn @ at, abs=1e-9)
        assert matrix(found.orientation) == pytest.approx(turn @ matrix(q), abs=1e-9)

    shapes = {
        "slab": (SolidPrimitive.BOX, (0.5, 0.3, 0.2), (0.25, 0.15, 0.1)),
        "globe": (SolidPrimitive.SPHERE, (0.17,), (0.17, 0.17, 0.17)),
        "can": (SolidPrimitive.CYLINDER, (0.4, 0.13), (0.13, 0.13, 0.2)),
    }
    for name, (kind, numbers, halves) in shapes.items():
        shape = SolidPrimitive(type=kind, dimensions=numbers)
        color = ColorRGBA(r=0.25, g=0.5, b=0.75, a=0.875)
        request = Spawn.Request(kind=Spawn.Request.OBJECT, name=name, shape=shape, color=color, pose=place_in)
        assert ask(Spawn, "/sim/spawn", request).success
        stands(name)
        made = node.sim.get_object(name)
        assert node.sim.world.half_extents[made.row] == pytest.approx(halves)
        assert made.get_color() == (0.25, 0.5, 0.75, 0.875)
    spawned = SpawnEntity.Request(name="other", uri="simple_cube", initial_pose=place_in)
    assert ask(SpawnEntity, "/sim/spawn_entity", spawned).entity_name == "other"
    stands("other")
    node.sim.get_object("slab").set_pose(fs.Pose((4.0, 4.0, 4.0)))
    state = EntityState(header=place_in.header, pose=place_in.pose)
    request = SetEntityState.Request(entity="slab", state=state)
    ask(SetEntityState, "/sim/set_entity_state", request)
    stands("slab")
    # The nearest one of three at one place stands 0.74 m off.
    near = float(np.linalg.norm(at))
    for radius, found in ((near - 0.02, False), (near + 0.02, True)):
        attach = Attach.Request(robot="diff", attach=True, search_radius=radius)
        assert ask(Attach, "/sim/attach", attach).success == found
    ask(Delete, "/sim/delete", Delete.Request(names=[*shapes, "other"]))


@holds(
    "ros:sensor_msgs/JointState.effort",
    *(f"ros:geometry_msgs/WrenchStamped.wrench.{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz"),
    *(f"ros:geometry_msgs/WrenchStamped.header.stamp.{part}" for part in ("sec", "nanosec")),
    fault="ros/robot_states.py: positions in place of efforts; ros/sensors.py: torques before forces",
)
def test_motors_and_force_sensors_tell_the_weight_that_they_hold(node: HeardNode) -> None:
    """Links of 0.5 kg, 0.1 m in front of upright joints: one turns, one slides."""
    node.step(2)
    stamp = round(node.sim.sim_time * 1e9)
    state = node.at("/arm/joint_states", stamp)
    assert list(state.name) == ["turn", "slide"]
    assert list(state.effort) == pytest.approx([0.0, 0.5 * G], abs=0.02)
    x, y, _, yaw = MOUNT
    wrench = node.at("/arm/wrench", stamp).wrench
    assert (wrench.force.x, wrench.force.y, wrench.force.z) == pytest.approx((0.0, 0.0, 0.5 * G), abs=0.02)
    torque = yawed(yaw).T @ np.cross([0.1 - x, -y, 0.0], [0.0, 0.0, 0.5 * G])
    assert (wrench.torque.x, wrench.torque.y, wrench.torque.z) == pytest.approx(torque, abs=0.01)
    for message, done in (
        (JointState(name=["slide", "turn"], position=[0.02, -0.3]), lambda at: abs(at - [-0.3, 0.02]).max() < 0.01),
        (JointState(position=[0.2, 0.0]), lambda at: abs(at - [0.2, 0.0]).max() < 0.01),
        (JointState(name=["turn"], velocity=[-0.5]), lambda at: at[0] < 0.0),
        (JointState(name=["turn"], velocity=[0.0]), lambda at: True),
    ):
        send(
            node,
            "/arm/joint_commands",
            message,
            lambda done=done: done(np.array(node.sim.get_object("arm").joint_positions)),
        )
    points = [JointTrajectoryPoint(positions=[value]) for value in (0.3, -0.2)]
    points[0].time_from_start.nanosec, points[1].time_from_start.sec = 400_000_000, 1
    arm, seen = node.sim.get_object("arm"), []

    def ended() -> bool:
        seen.append((node.sim.sim_time, float(arm.joint_positions[0])))
        return len(seen) > 6 and abs(seen[-1][1] + 0.2) < 0.01

    send(node, "/arm/joint_trajectory", JointTrajectory(joint_names=["turn"], points=points), ended)
    top = max(seen, key=lambda one: one[1])
    assert top[1] == pytest.approx(0.3, abs=0.03) and seen[-1][0] - top[0] == pytest.approx(0.6, abs=0.11)


@holds(
    *(f"ros:sensor_msgs/BatteryState.{field}" for field in ("current", "charge", "percentage", "power_supply_status")),
    fault="warehouse/battery/ros.py: a full battery as one that charges; voltage of the capacity",
)
def test_a_charger_fills_a_battery_and_is_told(node: HeardNode) -> None:
    client = node.listener.create_client(SetBool, "/omni/set_charging")
    node.until(client.service_is_ready)
    whole = BATTERY["capacity_wh"] * 3600.0
    assert "/diff/battery_state" not in node.kinds

    def switch(on: bool) -> Any:
        answer = client.call_async(SetBool.Request(data=on))
        while not answer.done():
            node.step()
        node.step()
        return node.heard["/omni/battery_state"][-1]

    battery = node.sim.get_object("omni").feature("battery")
    battery.battery_soc = 0.9
    state = switch(True)
    assert state.power_supply_status == BatteryState.POWER_SUPPLY_STATUS_CHARGING
    assert state.current == pytest.approx((203.0 - 41.0) / VOLTS, rel=1e-6)
    assert state.charge == pytest.approx(battery.energy / 3600.0 / VOLTS, rel=1e-6)
    battery.battery_soc = 1.0 - 1e-4
    node.step(3)
    state = node.heard["/omni/battery_state"][-1]
    assert (state.power_supply_status, state.percentage) == (BatteryState.POWER_SUPPLY_STATUS_FULL, 1.0)
    assert state.charge == pytest.approx(whole / 3600.0 / VOLTS, rel=1e-6) and state.current == 0.0
    state = switch(False)
    assert state.power_supply_status == BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
    assert state.current == pytest.approx(-41.0 / VOLTS, rel=1e-6)


def test_diagnostics_say_what_each_robot_does(node: HeardNode) -> None:
    battery = node.sim.get_object("omni").feature("battery")
    battery.battery_soc = 0.423

    def status(name: str) -> tuple[Any, dict[str, str]]:
        (one,) = (one for one in node.heard["/diagnostics"][-1].status if one.hardware_id == name)
        return one, {value.key: value.value for value in one.values}

    send(node, "/diff/cmd_vel", twist(0.3, 0, 0, 0, 0, 0), lambda: moves(node, "diff"))
    node.step()
    assert status("diff")[1] == {"mode": "velocity", "action": "", "speed": "0.300"}
    told, values = status("omni")
    assert (values["mode"], values["battery"], told.message, told.level) == (
        "idle",
        f"{battery.battery_soc:.3f}",
        "ok",
        told.OK,
    )
    _, whole = status("fleet_sim")
    assert (whole["entities"], whole["steps"], whole["faults"]) == ("4", str(node.sim.step_count), "0")
    assert whole["collisions"] == str(node.sim.collision_count)
    battery.battery_soc = 0.0
    node.step(2)
    told, _ = status("omni")
    assert (told.level, told.message) == (told.WARN, "its battery is empty")
    battery.battery_soc = 0.5
    assert float(whole["real_time_factor"]) > 0.0 and whole["target_rtf"] == "0"


def test_rates_are_changed_while_it_runs_and_nothing_else_is_taken(node: HeardNode) -> None:
    client = node.listener.create_client(SetParameters, f"{node.node.get_fully_qualified_name()}/set_parameters")
    node.until(client.service_is_ready)

    def change(name: str, value: float) -> Any:
        number = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
        answer = client.call_async(SetParameters.Request(parameters=[Parameter(name=name, value=number)]))
        while not answer.done():
            node.step()
        node.step()
        return answer.result().results[0]

    def published(topic: str, steps: int) -> int:
        known = len(node.heard[topic])
        node.step(steps)
        return len(node.heard[topic]) - known

    assert published("/omni/odom", 20) == 4
    assert change("rates.odom", 10.0).successful and published("/omni/odom", 20) == 10
    assert change("rates.odom", 0.0).successful and published("/omni/odom", 4) == 0
    assert change("target_rtf", 0.5).successful and node.sim.params.target_rtf == 0.5
    for name, value in (("rates.odom", -1.0), ("target_rtf", -0.1), ("target_rtf", math.nan)):
        answer = change(name, value)
        assert not answer.successful and name in answer.reason
    assert node.sim.params.target_rtf == 0.5 and published("/omni/odom", 4) == 0
    assert change("target_rtf", 0.0).successful
