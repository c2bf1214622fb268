"""What topics of robots say, against where the robots were: derivatives of poses, and settings of the scene."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")

from heard_node import stamp_of
from plain_geometry import matrix, spin_between, vector
from ros_domain import use_own_domain
from ros_scene import BATTERY, GOAL, KERB, NS_PER_S, TURN, VELOCITY, RosScene, ros_scene

use_own_domain()


@pytest.fixture(scope="module", params=[0.05, pytest.param(0.013, marks=pytest.mark.slow)])
def scene(request: Any, tmp_path_factory: Any) -> Iterator[RosScene]:
    with ros_scene(tmp_path_factory.mktemp("scene"), request.param) as made:
        yield made


def places(scene: RosScene, name: str) -> tuple[Any, Any, list[int]]:
    """Return the positions (N, 3) and matrices (N, 3, 3) of a body in all steps, and their stamps."""
    steps = scene.truth.values()
    return np.array([one.places[name] for one in steps]), np.array([one.turns[name] for one in steps]), scene.stamps


def motions(scene: RosScene, name: str) -> Iterator[tuple[int, Any, Any]]:
    """Yield stamps, and the velocity and spin of a body there in its own frame: derivatives of its poses."""
    positions, turns, stamps = places(scene, name)
    span = 2.0 * scene.timestep
    for k in range(2, len(stamps) - 1):
        velocity = (positions[k + 1] - positions[k - 1]) / span
        yield stamps[k], turns[k].T @ velocity, turns[k].T @ spin_between(turns[k - 1], turns[k + 1], span)


STAMP = "header.stamp.sec", "header.stamp.nanosec"
TWIST = [f"twist.twist.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"]
POSE = [*(f"position.{axis}" for axis in "xyz"), *(f"orientation.{axis}" for axis in "xyzw")]


@holds(
    *(f"ros:nav_msgs/Odometry.{field}" for field in (*STAMP, *TWIST, *(f"pose.pose.{field}" for field in POSE))),
    *(f"api:{name}" for name in ("Agent.velocity", "Agent.angular_velocity")),
    fault="sensing/sensors/imu.py: the sideways velocity has the other sign; ways are 1.02 times as long; "
    "ros/robot_states.py: twists in the frame of the world",
)
@pytest.mark.parametrize(
    ("topic", "name"), [("/omni/odom", "omni"), ("/omni/odometry", "omni"), ("/hauler/odom", "hauler")]
)
def test_odometry_is_where_the_robot_is_and_the_derivative_of_it(scene: RosScene, topic: str, name: str) -> None:
    seen = 0
    # A sensor tells the mean since its last reading, half a step ago.
    late = 0.5 * scene.timestep if topic.endswith("odometry") else 0.0
    for stamp, velocity, spin in motions(scene, name):
        message, truth = scene.at(topic, stamp), scene.truth[stamp]
        assert vector(message.pose.pose.position) == pytest.approx(truth.places[name], abs=1e-9)
        assert matrix(message.pose.pose.orientation) == pytest.approx(truth.turns[name], abs=1e-9)
        twist = message.twist.twist
        if topic.startswith("/omni") and stamp > 0.5 * NS_PER_S:
            # At its constant twist: everything is known in closed form.
            assert vector(twist.linear) == pytest.approx([*VELOCITY, 0.0], abs=2e-4)
            assert vector(twist.angular) == pytest.approx([0.0, 0.0, TURN], abs=1e-4)
            seen += 1
        # While it accelerates, by at most 10 m/s2 and rad/s2, the mean of a step is not its end.
        assert vector(twist.linear) == pytest.approx(velocity, abs=1e-3 + 10.0 * (late + 0.5 * scene.timestep))
        assert vector(twist.angular) == pytest.approx(spin, abs=1e-3 + 10.0 * (late + 0.5 * scene.timestep))
    assert seen > 10 or not topic.startswith("/omni") or scene.timestep < 0.05


@holds(
    *(f"ros:sensor_msgs/Imu.{kind}.{axis}" for kind in ("angular_velocity", "linear_acceleration") for axis in "xyz"),
    *(f"ros:sensor_msgs/Imu.orientation.{axis}" for axis in "xyzw"),
    *(f"ros:sensor_msgs/Imu.{field}" for field in STAMP),
    *(f"ros:sensor_msgs/Imu.{kind}_covariance" for kind in ("orientation", "angular_velocity", "linear_acceleration")),
    fault=(
        "sensing/sensors/imu.py: the arm of the sensor has the other sign; ros/sensors.py: covariances without the rate"
    ),
)
def test_an_imu_beside_the_middle_feels_second_differences_of_its_positions(scene: RosScene) -> None:
    stamps, dt = scene.stamps, scene.timestep
    frames = [scene.mounted("imu", stamp) for stamp in stamps]
    at = np.array([position for position, _ in frames])
    accelerations = (at[2:] - 2.0 * at[1:-1] + at[:-2]) / dt**2
    checked = 0
    for k in range(max(3, round(0.3 / dt)), len(stamps) - 1):
        message, turn = scene.at("/omni/imu", stamps[k]), frames[k][1]
        assert matrix(message.orientation) == pytest.approx(turn, abs=1e-6)
        spin = spin_between(frames[k - 1][1], frames[k][1], dt)
        assert vector(message.angular_velocity) == pytest.approx(turn.T @ spin, abs=1e-6)
        # The mean since the last reading is the one of half a step ago; what holds it up is felt too.
        felt = 0.5 * (accelerations[k - 1] + accelerations[k - 2]) + [0.0, 0.0, 9.81]
        assert vector(message.linear_acceleration) == pytest.approx(turn.T @ felt, abs=1e-3)
        checked += 1
    assert checked > 10
    for values, deviation in (
        (message.orientation_covariance, 3e-9),
        (message.angular_velocity_covariance, 1e-9 / math.sqrt(dt)),
        (message.linear_acceleration_covariance, 2e-9 / math.sqrt(dt)),
    ):
        assert np.array(values).reshape(3, 3) == pytest.approx(deviation**2 * np.eye(3), rel=1e-9, abs=0.0)


@holds(
    *(f"ros:sensor_msgs/JointState.{field}" for field in (*STAMP, "position", "velocity")),
    fault="ros/robot_states.py: positions in place of velocities",
)
def test_joint_states_are_the_positions_of_joints_and_their_derivatives(scene: RosScene) -> None:
    joints = np.array([one.joints for one in scene.truth.values()])
    moving = 0
    for k in range(1, len(joints) - 1):
        message = scene.at("/arm/joint_states", scene.stamps[k])
        assert list(message.name)[:3] == ["joint_1", "joint_2", "joint_3"] and not len(message.effort)
        assert np.array(message.position) == pytest.approx(joints[k], abs=1e-12)
        velocities = (joints[k] - joints[k - 1]) / scene.timestep
        # A joint that has arrived stands, whatever way it made in its last step.
        velocities[np.abs(joints[k + 1] - joints[k]) < 1e-12] = 0.0
        assert np.array(message.velocity) == pytest.approx(velocities, abs=1e-6)
        moving += bool(np.abs(velocities).max() > 0.1)
    assert moving > 3


@holds(
    *(f"ros:tf2_msgs/TFMessage.transforms.{field}" for field in STAMP),
    *(f"ros:tf2_msgs/TFMessage.transforms.transform.translation.{axis}" for axis in "xyz"),
    *(f"ros:tf2_msgs/TFMessage.transforms.transform.rotation.{axis}" for axis in "xyzw"),
    fault="ros/tf.py: robots in the other order; ros/tf.py: links turn the other way",
)
def test_tf_leads_from_the_map_to_every_link_and_sensor(scene: RosScene) -> None:
    tf2_ros = pytest.importorskip("tf2_ros")
    from rclpy.time import Time

    buffer = tf2_ros.Buffer()
    for topic in ("/tf_static", "/tf"):
        for message in scene.heard.heard[topic]:
            for transform in message.transforms:
                add = buffer.set_transform_static if topic == "/tf_static" else buffer.set_transform
                add(transform, "test")
    stamp = scene.stamps[7]
    truth = scene.truth[stamp]

    def found(frame: str) -> tuple[Any, Any]:
        transform = buffer.lookup_transform("map", frame, Time(nanoseconds=stamp)).transform
        return vector(transform.translation), matrix(transform.rotation)

    for name in ("omni", "hauler", "arm"):
        position, turn = found(f"{name}/base_link")
        assert position == pytest.approx(truth.places[name], abs=1e-9)
        assert turn == pytest.approx(truth.turns[name], abs=1e-9)
    for link, pose in truth.links.items():
        position, turn = found(f"arm/{link}")
        assert position == pytest.approx(np.array(pose.position), abs=1e-6)
        assert turn == pytest.approx(matrix(pose.orientation), abs=1e-6)
    for sensor in ("scan", "imu", "range", "points"):
        position, turn = found(f"omni/{sensor}")
        expected, expected_turn = scene.mounted(sensor, stamp)
        assert position == pytest.approx(expected, abs=1e-9)
        assert turn == pytest.approx(expected_turn, abs=1e-9)


@holds(
    *(f"ros:sensor_msgs/BatteryState.{field}" for field in (*STAMP, "voltage", "current", "charge", "capacity")),
    *(f"ros:sensor_msgs/BatteryState.{field}" for field in ("design_capacity", "percentage", "power_supply_status")),
    "ros:fleet_sim_msgs/FleetState.robots.battery",
    fault=(
        "warehouse/battery/ros.py: current as power times voltage; "
        "warehouse/battery/battery.py: what is missing, not what is left"
    ),
)
def test_a_battery_loses_what_standing_and_driving_take(scene: RosScene) -> None:
    capacity = BATTERY["capacity_wh"] * 3600.0
    joules = BATTERY["level"] * capacity
    positions, _, stamps = places(scene, "omni")
    start, dt = np.array([0.3, -0.7, 0.15]), scene.timestep
    volts = BATTERY["voltage"]
    for k, stamp in enumerate(stamps):
        message = scene.at("/omni/battery_state", stamp)
        driven = float(np.linalg.norm(positions[k] - (positions[k - 1] if k else start)))
        joules -= BATTERY["idle_power"] * dt + BATTERY["drive_energy"] * driven
        # A robot that accelerates has gone less far than its velocity at the end of the step says.
        assert message.percentage == pytest.approx(joules / capacity, abs=2e-6)
        assert message.charge == pytest.approx(joules / 3600.0 / volts, abs=1e-4)
        assert message.voltage == volts
        assert message.capacity == message.design_capacity == pytest.approx(480.0 / 36.0)
        assert message.power_supply_status == 2  # discharging
        assert scene.at("/fleet/states", stamp).robots[0].battery == pytest.approx(message.percentage, abs=1e-7)
    drawn = BATTERY["idle_power"] + BATTERY["drive_energy"] * math.hypot(*VELOCITY)
    assert message.current == pytest.approx(-drawn / volts, rel=1e-4)
    assert all(math.isnan(robot.battery) for robot in scene.at("/fleet/states", stamp).robots[1:])


@holds(
    *(f"ros:fleet_sim_msgs/FleetState.{field}" for field in STAMP),
    *(f"ros:fleet_sim_msgs/FleetState.robots.{kind}.{field}" for kind in ("pose", "goal") for field in POSE),
    *(f"ros:fleet_sim_msgs/FleetState.robots.{field.removeprefix('twist.')}" for field in TWIST),
    *(f"ros:fleet_sim_msgs/FleetState.robots.{field}" for field in ("distance_left", "mode", "moving", "busy")),
    *(f"ros:fleet_sim_msgs/FleetState.robots.{field}" for field in ("blocked", "carrying", "has_goal", "charging")),
    fault="ros/fleet.py: goals one waypoint early; distances in the plane; charging where there is a goal",
)
def test_the_state_of_the_fleet_says_what_each_robot_does(scene: RosScene) -> None:
    expected = {
        # mode, moving, busy, blocked, carrying, has_goal, blocked_by, loads
        "omni": (1, True, False, False, False, False, "", []),
        "hauler": (2, True, True, False, True, True, "", ["crate"]),
        "stuck": (2, True, False, True, False, True, "wall", []),
        "bumper": (0, False, False, False, False, False, "", []),
        "arm": (0, False, False, False, False, False, "", []),
    }
    goals = {"hauler": (GOAL, 0.7), "stuck": ((3.9, 4.4, 0.2), 0.0)}
    for stamp, velocity, spin in [*motions(scene, "omni")][-3:]:
        states = scene.at("/fleet/states", stamp).robots
        assert [state.name for state in states] == list(expected)
        for state in states:
            place, turn = scene.truth[stamp].places[state.name], scene.truth[stamp].turns[state.name]
            assert vector(state.pose.position) == pytest.approx(place, abs=1e-9)
            assert matrix(state.pose.orientation) == pytest.approx(turn, abs=1e-9)
            flags = (state.mode, state.moving, state.busy, state.blocked, state.carrying, state.has_goal)
            assert (*flags, state.blocked_by, list(state.loads)) == expected[state.name]
            assert not state.charging
            goal, yaw = goals.get(state.name, (None, 0.0))
            if goal is None:
                assert state.distance_left == 0.0 and vector(state.goal.position).tolist() == [0.0] * 3
            else:
                assert vector(state.goal.position) == pytest.approx(goal)
                c, s = math.cos(yaw), math.sin(yaw)
                assert matrix(state.goal.orientation) == pytest.approx(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
                assert state.distance_left == pytest.approx(math.dist(goal, place), abs=1e-9)
        assert vector(states[0].twist.linear) == pytest.approx(velocity, abs=1e-3)
        assert vector(states[0].twist.angular) == pytest.approx(spin, abs=1e-3)


@holds(
    "ros:fleet_sim_msgs/FleetColumns.*",
    fault="ros/fleet.py: angular velocities as linear ones; flags one column further",
)
def test_columns_of_the_fleet_are_those_of_its_robots(scene: RosScene) -> None:
    for stamp in scene.stamps[-3:]:
        columns, states = scene.at("/fleet/columns", stamp), scene.at("/fleet/states", stamp)
        assert columns.header == states.header
        loads = iter(columns.loads)
        counts = dict(zip(columns.names, columns.load_counts, strict=True))
        assert {name: [next(loads) for _ in range(count)] for name, count in counts.items()} == {
            state.name: list(state.loads) for state in states.robots
        }
        for index, state in enumerate(states.robots):
            for names, places in (
                (("positions", "linear_velocities", "angular_velocities", "goal_positions"), "xyz"),
                (("orientations", "goal_orientations"), "xyzw"),
            ):
                parts = {
                    "positions": state.pose.position,
                    "orientations": state.pose.orientation,
                    "linear_velocities": state.twist.linear,
                    "angular_velocities": state.twist.angular,
                    "goal_positions": state.goal.position,
                    "goal_orientations": state.goal.orientation,
                }
                for name in names:
                    width = len(places)
                    numbers = list(getattr(columns, name)[width * index : width * (index + 1)])
                    assert numbers == [getattr(parts[name], axis) for axis in places], name
            for name, field in (
                *((name, name) for name in ("moving", "busy", "blocked", "carrying", "charging", "has_goal", "faults")),
                *((f"{name}s", name) for name in ("mode", "operating_mode", "last_cause", "order", "last_error")),
                ("distances_left", "distance_left"),
                ("batteries", "battery"),
                ("blocked_by", "blocked_by"),
            ):
                assert getattr(columns, name)[index] == pytest.approx(getattr(state, field), abs=0.0, nan_ok=True), name


@holds(
    *(f"ros:nav_msgs/Path.{field}" for field in (*STAMP, "poses.header.stamp.sec", "poses.header.stamp.nanosec")),
    *(f"ros:nav_msgs/Path.poses.pose.{field}" for field in POSE),
    fault="ros/robot_states.py: orientation of the robot for all poses",
)
def test_a_plan_leads_from_the_robot_to_its_goal(scene: RosScene) -> None:
    (message,) = scene.heard.heard["/hauler/plan"]
    stamp = message.header.stamp.sec * NS_PER_S + message.header.stamp.nanosec
    first, last = (one.pose for one in message.poses)
    assert all(one.header.stamp == message.header.stamp for one in message.poses)
    assert vector(first.position) == pytest.approx(scene.truth[stamp].places["hauler"], abs=1e-9)
    assert matrix(first.orientation) == pytest.approx(scene.truth[stamp].turns["hauler"], abs=1e-9)
    assert vector(last.position) == pytest.approx(GOAL)
    assert math.degrees(math.atan2(last.orientation.z, last.orientation.w)) * 2.0 == pytest.approx(math.degrees(0.7))


@holds(
    *(f"ros:fleet_sim_msgs/Contacts.{field}" for field in (*STAMP, "points.x", "points.y", "points.z")),
    fault="sensing/sensors/contact.py: points 1.01 times as far",
)
def test_a_bumper_tells_the_nearest_point_of_what_touches_it(scene: RosScene) -> None:
    stamp = scene.stamps[-1]
    message = scene.at("/bumper/contacts", stamp)
    assert list(message.others) == ["kerb"]
    place, turn = scene.truth[stamp].places["bumper"], scene.truth[stamp].turns["bumper"]
    # Of a circle the nearest point of a box is that to its middle.
    inside = np.clip(KERB.local(place), -KERB.half_extents, KERB.half_extents)
    nearest = KERB.position + KERB.turn @ inside
    assert vector(message.points[0]) == pytest.approx(turn.T @ (nearest - place), abs=1e-6)


@holds(
    *(f"ros:rosgraph_msgs/Clock.clock.{part}" for part in ("sec", "nanosec")),
    *(
        f"ros:{kind}.{part}"
        for kind in ("diagnostic_msgs/DiagnosticArray", "fleet_sim_msgs/Collisions")
        for part in STAMP
    ),
    fault="ros/node.py: the time of the step's begin",
)
def test_the_clock_counts_steps_and_all_that_is_published_has_its_time(scene: RosScene) -> None:
    assert [stamp_of(one) for one in scene.heard.heard["/diagnostics"]] == scene.stamps
    none, begun, *_ = scene.heard.heard["/fleet/collisions"]
    assert not none.started and [(one.first, one.second) for one in begun.started] == [("bumper", "kerb")]
    # They touch from the first step on.
    assert stamp_of(begun) == scene.stamps[0]
    stamps = [one.clock.sec * NS_PER_S + one.clock.nanosec for one in scene.heard.heard["/clock"]]
    assert stamps == [round((k + 1) * scene.timestep * 1e9) for k in range(len(scene.stamps))]
