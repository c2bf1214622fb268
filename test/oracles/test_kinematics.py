"""Links, their velocities, boxes, mimic joints and inverse kinematics of the shipped robots, against Pinocchio."""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rigid
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.models.kinematics.tree import joint_frames
from fleet_sim.models.loading import load_robot_model

ROBOTS = ["arm6", "car", "diff_base", "mobile_manipulator", "omni_base", "panda", "rail_arm"]
SHIPPED = Path(__file__).parents[2] / "urdf"
PLACE = fs.Pose.from_euler(1.7, -0.6, 0.9, 0.3, -0.4, 0.7)


class Foreign:
    """A model of Pinocchio, from the same file."""

    def __init__(self, name: str) -> None:
        self.pin: Any = pytest.importorskip("pinocchio")
        self.path = str(SHIPPED / f"{name}.urdf")
        self.model = self.pin.buildModelFromUrdf(self.path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.shapes = self.pin.buildGeomFromUrdf(self.model, self.path, self.pin.GeometryType.COLLISION)
        self.data = self.model.createData()

    def put(self, values: dict[str, float]) -> np.ndarray:
        """Compute the frames at joint values by name; return the configuration."""
        q = self.pin.neutral(self.model)
        for name, value in values.items():
            joint = self.model.joints[self.model.getJointId(name)]
            # A joint without limits is a point on the circle.
            turn = (math.cos(value), math.sin(value)) if joint.nq == 2 else (value,)
            q[joint.idx_q : joint.idx_q + joint.nq] = turn
        self.pin.forwardKinematics(self.model, self.data, q)
        self.pin.computeJointJacobians(self.model, self.data, q)
        self.pin.updateFramePlacements(self.model, self.data)
        return np.asarray(q)

    def link(self, name: str) -> np.ndarray:
        return np.asarray(self.data.oMf[self.model.getBodyId(name)].homogeneous)

    def rates(self, name: str, speeds: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Return how a link moves and turns by its joints, in the axes of the base."""
        v = np.zeros(self.model.nv)
        for joint, speed in speeds.items():
            v[self.model.joints[self.model.getJointId(joint)].idx_v] = speed
        rows = self.pin.getFrameJacobian(
            self.model, self.data, self.model.getBodyId(name), self.pin.LOCAL_WORLD_ALIGNED
        )
        return (rows @ v)[:3], (rows @ v)[3:]

    def corners(self) -> np.ndarray:
        """Return points of all collision shapes in the frame of the base: corners, and many on what is round."""
        out = []
        for shape in self.shapes.geometryObjects:
            form, frame = shape.geometry, self.data.oMf[shape.parentFrame].homogeneous
            root = self.model.frames[shape.parentFrame]
            place = self.data.oMi[root.parentJoint].homogeneous @ shape.placement.homogeneous
            assert frame.shape == (4, 4)
            turns = np.linspace(0.0, 2.0 * math.pi, 720)
            ring = np.stack((np.cos(turns), np.sin(turns), 0.0 * turns), axis=1)
            if hasattr(form, "halfSide"):
                points = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T * form.halfSide
            elif hasattr(form, "halfLength"):
                points = np.concatenate([form.radius * ring + [0.0, 0.0, z * form.halfLength] for z in (-1.0, 1.0)])
            else:
                ups = np.linspace(-1.0, 1.0, 181)[:, None, None]
                points = form.radius * (np.sqrt(1.0 - ups**2) * ring[::8] + ups * [0.0, 0.0, 1.0]).reshape(-1, 3)
            out.append(points @ place[:3, :3].T + place[:3, 3])
        return np.concatenate(out)


def joints_of(name: str) -> dict[str, tuple[float, float, bool]]:
    """Return the joints that move by their own command: lower and upper limit, and whether they have limits."""
    out = {}
    for joint in ElementTree.parse(SHIPPED / f"{name}.urdf").getroot().iter("joint"):
        if joint.get("type") in ("revolute", "prismatic", "continuous") and joint.find("mimic") is None:
            limit = joint.find("limit")
            limited = joint.get("type") != "continuous" and limit is not None
            ends = [float(limit.get(end, 0.0)) for end in ("lower", "upper")] if limited else [-3.0, 3.0]
            out[str(joint.get("name"))] = (ends[0], ends[1], limited)
    return out


def robot_of(name: str, dt: float = 0.05, compiled: str = "never", **settings: Any) -> tuple[Any, fs.Agent]:
    params = fs.SimulationParams(
        gui=False, target_rtf=0, timestep=dt, enable_floor=False, collision_check_frequency=0, compiled_code=compiled
    )
    sim = fs.MultiRobotSimulationCore(params)
    params = {"mass": 0.0, "initial_pose": PLACE, **settings}
    return sim, sim.spawn(fs.AgentSpawnParams(urdf_path=str(SHIPPED / f"{name}.urdf"), name=name, **params))


def full(name: str, values: dict[str, float]) -> dict[str, float]:
    """Add the joints that follow others: Panda's second finger."""
    return values | ({"panda_finger_joint2": values["panda_finger_joint1"]} if name == "panda" else {})


@pytest.mark.parametrize("name", ROBOTS)
@holds(
    "api:Agent.get_link_pose", "api:Agent.get_link_velocity", "api:Agent.get_joint_limits", "ros:tf2_msgs/TFMessage.*",
    fault="models/kinematics/links.py: points of links are subtracted from the place of the base, not this from them",
)  # fmt: skip
def test_links_are_where_pinocchio_has_them_and_move_so(name: str) -> None:
    foreign = Foreign(name)
    joints = joints_of(name)
    rng = np.random.default_rng(3)
    for dt, compiled in ((0.05, "never"), (0.013, "always")):
        sim, robot = robot_of(name, dt, compiled)
        for joint, (low, high, limited) in joints.items():
            assert robot.get_joint_limits(joint) == ((low, high) if limited else (-math.inf, math.inf))
        values = {joint: rng.uniform(low, high) for joint, (low, high, _) in joints.items()}
        robot.set_joint_positions(values)
        ends = {joint: 0.5 * (low + high) for joint, (low, high, _) in joints.items()}
        robot.set_joints_targets(ends)
        if robot.can_move:
            robot.set_velocity(0.4, wz=0.5)
        sim.step_once()
        state = robot.get_all_joints_state_by_name()
        told = {joint: state[joint] for joint in full(name, values)}
        foreign.put({joint: position for joint, (position, _) in told.items()})
        base = rigid.frame_of(robot.get_pose())
        moves, turns = robot.velocity, np.array(sim.snapshots.request().result().angular_velocities[0])
        for link in robot.link_names:
            true = base @ foreign.link(link)
            assert np.allclose(rigid.frame_of(robot.get_link_pose(link)), true, atol=1e-9), link
            way, spin = foreign.rates(link, {joint: speed for joint, (_, speed) in told.items()})
            linear, angular = robot.get_link_velocity(link)
            arm = true[:3, 3] - base[:3, 3]
            assert np.allclose(linear, moves + np.cross(turns, arm) + base[:3, :3] @ way, atol=1e-9), link
            assert np.allclose(angular, turns + base[:3, :3] @ spin, atol=1e-9), link
        sim.close()


@pytest.mark.parametrize("name", ["mobile_manipulator", "panda", "rail_arm"])
@holds("api:joint_frames", fault="models/kinematics/tree.py: slides are along the axes in the frames of the children")
def test_moving_links_are_in_those_above_where_pinocchio_has_them(name: str) -> None:
    foreign, model = Foreign(name), load_robot_model(str(SHIPPED / f"{name}.urdf"))
    rng, names = np.random.default_rng(5), [model.joint_names[joint] for joint in model.movable]
    low, high = (np.clip(limit[model.movable], -2.0, 2.0) for limit in (model.lower, model.upper))
    values = rng.uniform(np.where(low < high, low, -1.0), np.where(low < high, high, 1.0), (3, len(names)))
    positions, turns = joint_frames(model, values)
    for robot in range(3):
        foreign.put(dict(zip(names, values[robot].tolist(), strict=True)))
        for index, joint in enumerate(model.movable.tolist()):
            above = int(model.parents[joint])
            parent = foreign.link(model.base_name if above < 0 else model.link_names[above])
            wanted = rigid.inverse(parent) @ foreign.link(model.link_names[joint])
            found = rigid.frame(positions[robot, index], turns[robot, index])
            assert np.allclose(found, wanted, atol=1e-9), (robot, names[index])


@pytest.mark.parametrize("name", ROBOTS)
@holds(
    "api:MultiRobotSimulationCore.get_aabbs",
    fault="models/kinematics/links.py: `body != BASE` is `==`: the boxes of wheels turn with them",
)  # fmt: skip
def test_boxes_hold_all_shapes_and_wheels_do_not_change_them(name: str) -> None:
    foreign = Foreign(name)
    joints = joints_of(name)
    rng = np.random.default_rng(4)
    level = fs.Pose.from_yaw(1.7, -0.6, 0.9, 0.0)
    sim, robot = robot_of(name, initial_pose=level)
    for _ in range(4):
        values = {joint: rng.uniform(low, high) for joint, (low, high, _) in joints.items()}
        robot.set_joint_positions(values)
        foreign.put(full(name, values))
        points = foreign.corners() + level.position
        lower, upper = sim.get_aabbs()[robot.object_id]
        assert (points.min(axis=0) >= lower - 1e-6).all() and (points.max(axis=0) <= upper + 1e-6).all()
        # The box of a shape that is turned is larger than the shape: by the corners of a square around a circle.
        room = 0.09
        assert (points.min(axis=0) <= lower + room).all() and (points.max(axis=0) >= upper - room).all()
    wheels = [joint for joint, (_, _, limited) in joints.items() if not limited]
    robot.set_joint_positions(dict.fromkeys(joints, 0.0))
    lower, upper = sim.get_aabbs()[robot.object_id]
    for angle in (0.3, 0.8, 2.1):
        if wheels:
            robot.set_joint_positions(dict.fromkeys(wheels, angle))
        for now, then in zip(sim.get_aabbs()[robot.object_id], (lower, upper), strict=True):
            assert np.allclose(now, then, atol=1e-9)
    if wheels:
        # Upright and on wheels, the box is that of the shapes themselves.
        foreign.put(dict.fromkeys(joints, 0.0))
        points = foreign.corners() + level.position
        assert np.allclose(points.min(axis=0), lower, atol=2e-3 if name == "mobile_manipulator" else 2e-4)
    sim.close()


@pytest.mark.parametrize(
    ("name", "link", "compiled", "turned"),
    [
        ("arm6", "tool0", "never", True),
        ("panda", "panda_hand", "always", True),
        ("rail_arm", "tool0", "never", True),
        ("rail_arm", "tool0", "never", False),
    ],
)
@holds(
    "api:Agent.find_reach", "api:Agent.move_end_effector", "api:Agent.get_end_effector_pose",
    fault="models/kinematics/inverse.py: errors of orientation are told as half of what they are",
)  # fmt: skip
def test_inverse_kinematics_end_where_pinocchio_says(name: str, link: str, compiled: str, turned: bool) -> None:
    foreign = Foreign(name)
    joints = joints_of(name)
    rng = np.random.default_rng(6)
    sim, robot = robot_of(name, compiled=compiled)
    sim.step_once()
    base = rigid.frame_of(PLACE)
    reached = 0
    for _ in range(12):
        low, high = (np.array([limits[end] for limits in joints.values()]) for end in (0, 1))
        shares = 0.5 + 0.42 * rng.uniform(-1.0, 1.0, len(low))
        goal = dict(zip(joints, low + shares * (high - low), strict=True))
        foreign.put(full(name, goal))
        wanted = base @ foreign.link(link)
        robot.set_joint_positions(dict(zip(joints, 0.5 * (low + high), strict=True)))
        pose = None
        if turned:
            vector = rigid.turned_by(wanted[:3, :3])
            half = 0.5 * np.linalg.norm(vector)
            pose = (*(vector * math.sin(half) / (2.0 * half)), math.cos(half))
        found = robot.find_reach(tuple(wanted[:3, 3]), pose, link)
        fine = robot.move_end_effector(tuple(wanted[:3, 3]), pose, link)
        targets = {robot.joint_names[joint]: value for joint, value in robot.last_joint_targets.items()}
        assert all(
            joints[joint][0] - 1e-12 <= value <= joints[joint][1] + 1e-12
            for joint, value in targets.items()
            if joint in joints
        )
        foreign.put(
            full(
                name,
                {
                    joint: targets.get(joint, state)
                    for joint, (state, _) in robot.get_all_joints_state_by_name().items()
                    if joint in joints
                },
            )
        )
        end = base @ foreign.link(link)
        off = float(np.linalg.norm(end[:3, 3] - wanted[:3, 3]))
        assert off == pytest.approx(found.position_errors[0], abs=1e-8)
        angle = float(np.linalg.norm(rigid.turned_by(end[:3, :3] @ wanted[:3, :3].T)))
        if turned:
            assert angle == pytest.approx(found.orientation_errors[0], abs=1e-6)
        assert fine == bool(found.reachable_mask[0]) == (off <= 0.02 and (not turned or angle <= 0.15))
        reached += off < 0.01 and (not turned or angle < 0.01)
    assert reached >= 11
    sim.close()
