"""Entities: places on grids, carrying, footprints, joints and motors, against matrices and values by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rigid
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.robots.attachments import footprint_radius

Make = Callable[..., fs.MultiRobotSimulationCore]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.2, 0.3))
CRATE, ROBOT = fs.SimObjectSpawnParams(BOX, BOX), fs.AgentSpawnParams(BOX, BOX)


def near(pose: fs.Pose, frame: np.ndarray) -> bool:
    return bool(np.allclose(rigid.frame_of(pose), frame, atol=1e-9))


# ---- groups ----------------------------------------------------------------------------------------------------------


@holds(
    "api:GridSpawnParams", "api:SimObjectManager.spawn_objects_grid",
    fault="robots/spawning.py: layers are counted by width times width",
)  # fmt: skip
def test_cells_of_grids_are_numbered_along_x_then_y_then_z(make_sim: Make) -> None:
    grid = fs.GridSpawnParams(-1, 1, 2, 3, (0.7, -1.1, 0.4), (5.0, 0.3, 0.9), z_min=-2, z_max=1)
    assert grid.total_cells == 3 * 2 * 4
    group = fs.SimObjectManager(make_sim())
    turned = fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_yaw(0.0, 0.0, 0.0, 0.7))
    made = [*group.spawn_objects_grid(9, grid, turned, "c"), *group.spawn_objects_grid(24, grid, CRATE, "d")]
    for number, thing in enumerate(made):
        cell = number if number < 9 else number - 9
        x, y, z = cell % 3 - 1, cell // 3 % 2 + 2, cell // 6 - 2
        assert thing.position == pytest.approx((5.0 + 0.7 * x, 0.3 - 1.1 * y, 0.9 + 0.4 * z), abs=1e-12)
        assert thing.name == (f"c_{cell}" if number < 9 else f"d_{cell}")
        assert thing.get_pose().yaw == pytest.approx(0.7 if number < 9 else 0.0)
    assert [thing.name for thing in group.spawn_objects_grid(2, grid, CRATE, "c")] == ["c_9", "c_10"]
    assert group.get_object_count() == 35 and group[-1].name == "c_10" and group.get_object("d_3") is made[12]
    for count, columns, sizes in (
        (7, None, (3, 3)),
        (7, 2, (2, 4)),
        (9, None, (3, 3)),
        (10, None, (4, 3)),
        (1, 1, (1, 1)),
    ):
        flat = fs.GridSpawnParams.from_count(count, columns)
        assert (flat.x_min, flat.y_min, flat.x_max + 1, flat.y_max + 1, flat.total_cells) == (
            0,
            0,
            *sizes,
            math.prod(sizes),
        )
    for bad in ((0, None), (3, 0)):
        with pytest.raises(fs.InvalidValueError):
            fs.GridSpawnParams.from_count(*bad)


@holds(
    "api:SimObjectManager.spawn_grid_mixed", "api:SimObjectManager.spawn_grid_counts",
    fault="robots/manager.py: the largest probability must not be negative, and not the smallest",
)  # fmt: skip
def test_kinds_on_grids_are_as_many_as_they_should_be(make_sim: Make) -> None:
    grid = fs.GridSpawnParams.from_count(2000, spacing=(2.0, 3.0, 0.0))
    kinds = [fs.SimObjectSpawnParams(BOX, BOX, name=name, mass=float(len(name))) for name in ("a", "bb", "ccc")]
    group = fs.SimObjectManager(make_sim(seed=5))
    made = group.spawn_grid_mixed(2000, grid, list(zip(kinds, (0.2, 0.45, 0.1), strict=True)))
    found = Counter(thing.name.split("_")[0] for thing in made)
    for name, share in (("a", 0.2), ("bb", 0.45), ("ccc", 0.1)):
        # Four standard deviations of a binomial.
        assert abs(found[name] - 2000 * share) < 4 * math.sqrt(2000 * share * (1 - share))
        assert {thing.name for thing in made if thing.mass == len(name)} == {f"{name}_{k}" for k in range(found[name])}
    cells = {tuple(thing.position.tolist()) for thing in made}
    assert len(cells) == len(made) and all(x % 2 == 0 and y % 3 == 0 and z == 0 for x, y, z in cells)
    for shares in ((-0.1, 0.5), (0.5, -0.1), (0.7, 0.4), ()):
        with pytest.raises(fs.InvalidValueError, match="probabilities"):
            group.spawn_grid_mixed(4, grid, list(zip(kinds, shares, strict=False)))
    other = fs.SimObjectManager(make_sim(seed=5))
    assert len(other.spawn_grid_mixed(40, grid, [(kinds[0], 0.6), (kinds[1], 0.4)])) == 40
    exact = other.spawn_grid_counts(grid, [(kinds[0], 3), (kinds[1], 0), (kinds[2], 5)])
    assert [thing.mass for thing in exact] == [1.0] * 3 + [3.0] * 5
    for counts in ((-1, 2), (2, -1), (1.0, 2), ()):
        with pytest.raises(fs.InvalidValueError, match="counts of at least 0"):
            other.spawn_grid_counts(grid, list(zip(kinds, counts, strict=False)))  # type: ignore[arg-type]
    with pytest.raises(fs.InvalidValueError, match="do not fit"):
        other.spawn_grid_counts(fs.GridSpawnParams.from_count(4, 2), [(kinds[0], 3), (kinds[1], 2)])


@holds(
    "api:AgentManager.get_moving_count", "api:AgentManager.register_callback",
    fault="robots/manager.py: callbacks are unregistered where there are none",
)  # fmt: skip
def test_groups_count_who_moves_and_call_at_their_rate(make_sim: Make) -> None:
    sim = make_sim(timestep=0.05)
    group = fs.AgentManager(sim, update_frequency=4.0)
    assert group.get_moving_count() == 0 and not group.has_callbacks and not group.unregister_callback(print)
    group.spawn_agents_grid(4, fs.GridSpawnParams.from_count(4, spacing=(3.0, 3.0, 0.0)), ROBOT, "r")
    calls: dict[str, list[float]] = {"own": [], "other": []}

    def own(_: Any, dt: float) -> None:
        calls["own"].append(dt)

    group.register_callback(own)
    group.register_callback(lambda _, dt: calls["other"].append(dt), 10.0)
    group.set_goal_pose_all(lambda agent: fs.Pose((9.0, 9.0, 0.0)) if agent.name in ("r_1", "r_2") else None)
    group[3].set_velocity(0.3)
    for _ in range(20):
        sim.step_once()
    assert calls == {"own": pytest.approx([0.25] * 4), "other": pytest.approx([0.1] * 10)}
    assert group.unregister_callback(own) and not group.unregister_callback(own) and group.has_callbacks
    assert group.get_moving_count() == 3
    assert [agent.name for agent in group.get_moving_agents()] == ["r_1", "r_2", "r_3"]
    assert [agent.name for agent in group.get_stopped_agents()] == ["r_0"]
    sim.remove_object(group[1])
    assert group.get_moving_count() == 2 and [agent.name for agent in group] == ["r_0", "r_2", "r_3"]
    group.stop_all()
    assert group.get_moving_count() == 0


# ---- carrying --------------------------------------------------------------------------------------------------------


@holds(
    "api:SimObject.attach_object", "api:SimObject.detach_object", "api:SimObject.velocity",
    fault="robots/attachments.py: the velocity of what is carried has the arm times the spin",
)  # fmt: skip
def test_what_is_carried_is_where_its_carriers_and_offsets_put_it(make_sim: Make) -> None:
    sim = make_sim(timestep=0.013)
    arm = sim.spawn(
        fs.AgentSpawnParams(urdf_path="mobile_manipulator", mass=0.0, initial_pose=fs.Pose.from_yaw(1, 2, 0, 0.7))
    )
    base, top = sim.spawn_all([CRATE, CRATE])
    offsets = [fs.Pose.from_euler(0.3, -0.2, 0.1, 0.4, 0.2, -0.6), fs.Pose.from_euler(-0.1, 0.5, 0.2, -0.3, 0.6, 0.9)]
    assert base.attach_object(top, relative_pose=offsets[1])
    assert arm.attach_object(base, "tcp_link", offsets[0])
    arm.set_velocity(0.4, wz=0.8)
    arm.set_joint_velocity("joint_1", 0.5)
    arm.set_joint_velocity("joint_3", -0.4)
    before: list[np.ndarray] = []
    for _ in range(60):
        before = [thing.position for thing in (base, top)]
        sim.step_once()
        frame = rigid.frame_of(arm.get_link_pose("tcp_link"))
        for thing, offset in zip((base, top), offsets, strict=True):
            frame = frame @ rigid.frame_of(offset)
            assert near(thing.get_pose(), frame)
    for thing, place in zip((base, top), before, strict=True):
        # Backward differences are off by half of the acceleration times the step.
        assert thing.velocity == pytest.approx((thing.position - place) / 0.013, abs=0.02)
        assert float(np.linalg.norm(thing.velocity)) > 0.2
    assert arm.get_attached_objects() == [base] and top.attached_to == base and top.is_attached()
    # Over to another link, at the same place, and down, moved in its own frame.
    place = base.get_pose()
    assert arm.attach_object(base, 3, keep_world_pose=True) and near(base.get_pose(), rigid.frame_of(place))
    arm.stop()
    sim.step_once()
    place = rigid.frame_of(base.get_pose())
    assert arm.detach_object(base, drop_relative_pose=offsets[1])
    assert near(base.get_pose(), place @ rigid.frame_of(offsets[1]))
    assert near(top.get_pose(), place @ rigid.frame_of(offsets[1]) @ rigid.frame_of(offsets[1]))
    assert not base.velocity.any() and not arm.detach_object(base) and not base.is_attached()
    # What is put elsewhere between two steps takes along what it carries at once.
    turn = fs.Pose.from_euler(3.1, -1.2, 0.4, 0.3, -0.2, 1.7)
    base.set_name("base")
    positions, orientations = np.array([turn.position]), np.array([turn.orientation])
    sim.dispatcher.dispatch(fs.SetPoses(names=("base",), positions=positions, orientations=orientations))
    assert near(base.get_pose(), rigid.frame_of(turn))
    assert near(top.get_pose(), rigid.frame_of(turn) @ rigid.frame_of(offsets[1]))


@holds(
    "api:SimObject.find_nearest_pickable",
    fault="robots/attachments.py: squares of distances are compared with the radius",
)  # fmt: skip
def test_the_nearest_free_thing_is_found(make_sim: Make) -> None:
    sim = make_sim()
    robot = sim.spawn(ROBOT)
    places = [(1.3, 0.2, 0.9), (-0.5, 1.2, 0.0), (0.5, -1.2, 0.0), (0.7, 0.9, 1.9), (0.1, 0.1, 0.1)]
    things = sim.spawn_all([fs.SimObjectSpawnParams(BOX, BOX, fs.Pose(place)) for place in places])
    things[4].pickable = False
    for centre in (None, (0.6, 0.6, 1.2), (-0.2, 0.1, 0.3)):
        at = np.array(centre or (0.0, 0.0, 0.0))
        for flat in (False, True):
            way = np.array(places[:4]) - at
            far = np.linalg.norm(way[:, :2] if flat else way, axis=1)
            best = int(np.argmin(np.round(far, 9)))
            for radius in (far.min() - 1e-6, far.min() + 1e-6):
                found = robot.find_nearest_pickable(float(radius), centre, use_2d_search=flat)
                assert found == (things[best] if radius > far.min() else None)
    robot.attach_object(things[1])
    assert robot.find_nearest_pickable(1.4) == things[2]


@holds(
    "vda5050:factsheet.physicalParameters.width",
    fault="robots/attachments.py: a sphere that is carried counts from the middle of the robot",
)  # fmt: skip
def test_the_footprint_holds_the_robot_and_what_it_carries(make_sim: Make) -> None:
    sim = make_sim()
    shapes = {
        "box": fs.ShapeParams(
            "box", half_extents=(0.5, 0.2, 0.3), frame_pose=fs.Pose.from_euler(0.1, -0.2, 0.4, 0.3, 0.5, 0.9)
        ),
        "sphere": fs.ShapeParams("sphere", radius=0.4, frame_pose=fs.Pose((0.2, 0.3, 0.7))),
        "cylinder": fs.ShapeParams("cylinder", radius=0.3, height=1.0, frame_pose=fs.Pose((0.2, -0.4, 0.3))),
    }
    for number, (kind, shape) in enumerate(shapes.items()):
        robot = sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(5.0 * number, 1.0, 0.0, 0.7)))
        middle = np.array(shape.frame_pose.position)
        if kind == "box":
            signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
            corners = middle + (signs * (0.5, 0.2, 0.3)) @ rigid.rotation(shape.frame_pose.orientation).T
            expected = float(np.hypot(corners[:, 0], corners[:, 1]).max())
        else:
            expected = math.hypot(middle[0], middle[1]) + (0.4 if kind == "sphere" else 0.3)
        assert footprint_radius(sim.world, robot.row) == pytest.approx(expected, abs=1e-9)
        ball = sim.spawn(fs.SimObjectSpawnParams(shapes["sphere"], shapes["sphere"]))
        robot.attach_object(ball, relative_pose=fs.Pose.from_yaw(0.6, -0.5, 0.2, 0.4))
        at = np.array([0.6, -0.5]) + rigid.turn((0.0, 0.0, 0.4))[:2, :2] @ [0.2, 0.3]
        expected = max(expected, float(np.hypot(*at)) + 0.4)
        assert footprint_radius(sim.world, robot.row) == pytest.approx(expected, abs=1e-9)


# ---- joints and motors -----------------------------------------------------------------------------------------------


@holds(
    "api:Agent.set_motors", "api:Agent.get_motor", "api:MotorParams",
    fault="robots/spawn_params.py: commands that run are not clipped to new limits",
)  # fmt: skip
def test_motors_have_the_limits_that_were_given_last(make_sim: Make) -> None:
    pytest.importorskip("mujoco")
    sim = make_sim(physics=True, engine="mujoco", timestep=0.01, gravity=(0.0, 0.0, 0.0))
    arm = sim.spawn(
        fs.AgentSpawnParams(
            urdf_path="arm6", use_fixed_base=True, mass=None,
            motors=fs.MotorParams(velocity_gain=0.9, max_velocity=2.1),
            joint_motors={"joint_2": fs.MotorParams(max_velocity=0.7, max_force=31.0)},
        )
    )  # fmt: skip
    assert [arm.get_motor(f"joint_{k}").max_velocity for k in (1, 2, 3)] == [2.1, 0.7, 2.1]
    assert [arm.get_motor(f"joint_{k}").max_force for k in (1, 2)] == [None, 31.0]
    assert {arm.get_motor(f"joint_{k}").velocity_gain for k in range(1, 7)} == {0.9}
    for joint, speed in (("joint_1", 1.7), ("joint_4", -1.6), ("joint_2", 1.5), ("joint_6", 0.2)):
        arm.set_joint_velocity(joint, speed)
    arm.set_motors(["joint_1", "joint_4", "joint_6"], max_velocity=0.4, position_gain=0.15)
    assert [arm.get_motor(f"joint_{k}").position_gain for k in (1, 4)] == [0.15, 0.15]
    assert arm.get_motor("joint_3").max_velocity == 2.1
    for _ in range(40):
        sim.step_once()
    speeds = {name: arm.get_joint_state(name)[1] for name in ("joint_1", "joint_4", "joint_2", "joint_6")}
    assert speeds == pytest.approx({"joint_1": 0.4, "joint_4": -0.4, "joint_2": 0.7, "joint_6": 0.2}, abs=0.02)
    with pytest.raises(fs.InvalidValueError, match="nothing to set"):
        arm.set_motors("joint_1")


@holds(
    "api:AgentSpawnParams.joint_positions", "api:Agent.are_joints_at_targets",
    fault="robots/joint_arguments.py: numbers of all joints are taken for those that move",
)  # fmt: skip
def test_numbers_of_joints_are_by_order_by_index_or_by_name(make_sim: Make, tmp_path: Path) -> None:
    parts = ['<link name="base"/>']
    kinds = ("revolute", "fixed", "prismatic", "continuous")
    for number, kind in enumerate(kinds):
        limit = '<limit lower="0.2" upper="0.9" velocity="3" effort="9"/>' if kind in ("revolute", "prismatic") else ""
        parts.append(
            f'<link name="l{number}"/><joint name="j{number}" type="{kind}"><parent link="base"/>'
            f'<child link="l{number}"/><axis xyz="0 0 1"/>{limit}</joint>'
        )
    path = tmp_path / "mixed.urdf"
    path.write_text(f'<robot name="mixed">{"".join(parts)}</robot>')
    sim = make_sim()

    def spawn(**settings: Any) -> Any:
        return sim.spawn(fs.AgentSpawnParams(urdf_path=str(path), use_fixed_base=True, **settings))

    # 0, or the limit that is nearest to it.
    assert spawn().joint_positions.tolist() == [0.2, 0.2, 0.0]
    for given in ([0.3, 0.5, -2.0], [0.3, 7.0, 0.5, -2.0], {"j0": 0.3, "j2": 0.5, "j3": -2.0}):
        assert spawn(joint_positions=given).joint_positions.tolist() == [0.3, 0.5, -2.0]
    assert spawn(joint_positions={"j0": 0.9 + 5e-7, "j2": 0.2 - 5e-7}).joint_positions.tolist() == [0.9, 0.2, 0.0]
    for given in ({"j0": 0.9 + 5e-6}, {"j2": 0.2 - 5e-6}, [0.3, 0.5], [0.3, 0.5, 0.0, 0.0, 0.0], {"j1": 0.0}):
        with pytest.raises((fs.InvalidValueError, fs.ConfigError)):
            spawn(joint_positions=given)
    robot = spawn(joint_positions=[0.3, 0.5, -2.0], joint_tolerance={"j0": 0.05, "j1": 9.0})
    robot.set_joints_targets({"j0": 0.34, "j2": 0.508, "j3": -2.009})
    assert robot.get_joint_state("j1") == (0.0, 0.0) and robot.get_all_joints_state()[2][0] == 0.5
    assert robot.are_joints_at_targets()
    assert robot.are_joints_at_targets(tolerance=[0.05, 9.0, 0.009, 0.0091])
    assert not robot.are_joints_at_targets(tolerance=[0.05, 9.0, 0.007, 0.0091])
    assert not robot.are_joints_at_targets(tolerance=0.02) and robot.are_joints_at_targets(tolerance=0.041)
    # A short list: the others have 0.01.
    assert robot.are_joints_at_targets(tolerance=[0.05]) and not robot.are_joints_at_targets(tolerance=[0.03])


@holds(
    "api:SetVelocity", "api:SetJoints", "api:SimObjectSpawnParams.initial_pose",
    fault="robots/drive.py: a speed is too large where all three numbers are",
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_number_that_is_too_large_is_enough(make_sim: Make, place: int) -> None:
    sim = make_sim()
    given = np.array([0.2, -0.3, 0.4])
    given[place] = -1e13
    with pytest.raises(fs.ConfigError):
        fs.SimObjectSpawnParams(initial_pose=given.tolist())
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", mass=0.0, motion_mode="omnidirectional", name="arm"))
    small = np.full((1, 3), 0.1)
    for command in (
        fs.SetVelocity(names=("arm",), linear=given[None], angular=small),
        fs.SetVelocity(names=("arm",), linear=small, angular=given[None]),
        fs.SetJoints(names=("arm",), joint_names=("joint_1", "joint_2", "joint_3"), velocities=given[None]),
    ):
        answer = sim.inbox.put(command)
        sim.step_once()
        assert "arm" in dict(answer.result().rejected)
    sim.step_once()
    assert not np.any(arm.velocity) and not np.any(arm.get_pose().position)
