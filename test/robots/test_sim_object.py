"""SimObject: a handle over one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim import (
    Agent,
    AgentPlugin,
    AgentSpawnParams,
    CollisionMode,
    ConfigError,
    DuplicateNameError,
    InvalidValueError,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    StaleHandleError,
    StateError,
)

TETRAHEDRON = """v 0 0 0
v 2 0 0
v 0 2 0
v 0 0 2
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def test_handles_of_one_entity_are_equal(sim: MultiRobotSimulationCore, crate: SimObject, robot: Agent) -> None:
    again = sim.get_object("crate")
    assert again == crate
    assert hash(again) == hash(crate)
    assert crate != robot
    assert crate != "crate"
    assert len({crate, again, robot}) == 2
    assert sim.get_object(crate.object_id) == crate


def test_repr_names_the_entity_and_survives_its_removal(sim: MultiRobotSimulationCore, crate: SimObject) -> None:
    unnamed = sim.spawn(SimObjectSpawnParams())
    assert repr(crate) == "<SimObject crate>"
    assert repr(unnamed) == f"<SimObject #{unnamed.object_id}>"
    sim.remove_object(crate)
    assert "removed" in repr(crate)


def test_a_stale_handle_says_so_even_when_its_row_is_used_again(
    sim: MultiRobotSimulationCore, crate: SimObject
) -> None:
    sim.remove_object(crate)
    follower = sim.spawn(SimObjectSpawnParams(name="crate"))
    assert not crate.is_alive
    assert crate != follower
    for use in (crate.get_pose, lambda: crate.name, lambda: crate.object_id, lambda: crate.set_pose(Pose((0, 0, 0)))):
        with pytest.raises(StaleHandleError, match="crate was removed"):
            use()
    with pytest.raises(StaleHandleError):
        sim.remove_object(crate)


def test_a_pose_that_was_read_never_changes(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    before = robot.get_pose()
    position = robot.position
    robot.set_velocity(1.0)
    for _ in range(5):
        sim.step_once()
    assert before == Pose((0, 0, 0))
    assert position.tolist() == [0.0, 0.0, 0.0]
    assert robot.get_pose().x > 0.0
    robot.position[:] = 7.0
    assert robot.get_pose().x < 7.0


def test_set_pose_tells_whether_it_moved(crate: SimObject) -> None:
    target = Pose.from_yaw(2.0, 1.0, 0.0, 0.5)
    assert crate.set_pose(target)
    assert crate.get_pose() == target
    assert not crate.set_pose(target)


def test_set_pose_raw_normalises_and_refuses_nonsense(crate: SimObject) -> None:
    assert crate.set_pose_raw([1, 2, 3], [0, 0, 0, 2])
    assert crate.get_pose() == Pose((1, 2, 3))
    for position, orientation in (
        ([1, 2], [0, 0, 0, 1]),
        ([np.nan, 0, 0], [0, 0, 0, 1]),
        ([0, 0, np.inf], [0, 0, 0, 1]),
        ([0, 0, 0], [0, 0, 0, 0]),
        ("abc", [0, 0, 0, 1]),
    ):
        with pytest.raises(InvalidValueError):
            crate.set_pose_raw(position, orientation)
    assert crate.get_pose() == Pose((1, 2, 3))


def test_set_pose_may_keep_or_end_the_velocity(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    robot.set_velocity(1.0)
    sim.step_once()
    assert robot.velocity[0] > 0.0
    robot.set_pose(Pose((5, 0, 0)))
    assert robot.velocity[0] > 0.0
    robot.set_pose(Pose((6, 0, 0)), preserve_velocity=False)
    assert robot.velocity.tolist() == [0.0, 0.0, 0.0]


def test_names_are_unique_and_may_change(sim: MultiRobotSimulationCore, crate: SimObject, robot: Agent) -> None:
    crate.set_name("box")
    assert sim.get_object("box") == crate
    with pytest.raises(DuplicateNameError, match="robot"):
        crate.set_name("robot")
    with pytest.raises(KeyError, match="Did you mean 'robot'"):
        sim.get_object("robo")
    crate.set_name(None)
    assert crate.name is None
    sim.spawn(SimObjectSpawnParams(name="box"))


def test_entities_of_one_batch_do_not_share_user_data(sim: MultiRobotSimulationCore) -> None:
    # Texts of long arrays are abbreviated, so that these two look alike when printed.
    first, second = np.zeros(5000), np.zeros(5000)
    second[2500] = 1.0
    handles = sim.spawn_all([SimObjectSpawnParams(user_data={"map": data}) for data in (first, second)])
    assert handles[0].user_data["map"][2500] == 0.0
    assert handles[1].user_data["map"][2500] == 1.0


def test_collision_modes_change_at_run_time(sim: MultiRobotSimulationCore, crate: SimObject, robot: Agent) -> None:
    sim.step_once()
    crate.set_pose(Pose((0.1, 0, 0)))
    sim.step_once()
    assert sim.collision_count == 1
    crate.set_collision_mode("disabled")
    assert crate.collision_mode is CollisionMode.DISABLED
    sim.step_once()
    assert not sim.get_active_collision_pairs()
    crate.set_collision_mode(CollisionMode.NORMAL_3D)
    sim.step_once()
    assert len(sim.get_active_collision_pairs()) == 1
    crate.set_collision_mode(CollisionMode.STATIC)
    assert crate.is_static
    with pytest.raises(ValueError, match=r"Did you mean 'normal_3d'"):
        crate.set_collision_mode("normal_4d")


def test_callbacks_run_at_their_frequency_with_true_elapsed_time(
    sim: MultiRobotSimulationCore, crate: SimObject
) -> None:
    always, sometimes = [], []

    def each(obj: SimObject, dt: float) -> None:
        always.append((obj, dt))

    crate.register_callback(each)
    crate.register_callback(lambda obj, dt: sometimes.append(dt), frequency=2.0)
    for _ in range(10):
        sim.step_once()
    assert always == [(crate, pytest.approx(0.1))] * 10
    assert sometimes == [pytest.approx(0.5)] * 2
    assert crate.unregister_callback(each)
    assert not crate.unregister_callback(each)


def test_a_subclass_may_override_update(sim: MultiRobotSimulationCore) -> None:
    class Beacon(SimObject):
        def update(self, dt: float) -> bool:
            self.user_data["time"] = self.user_data.get("time", 0.0) + dt
            return self.set_pose(Pose((self.user_data["time"], 0, 0)))

    beacon = Beacon.from_params(SimObjectSpawnParams(name="beacon"), sim)
    still = sim.spawn(SimObjectSpawnParams())
    # Being spawned is no motion, being put elsewhere is.
    assert not still.update(0.1)
    still.set_pose(Pose((1.0, 0, 0)))
    assert still.update(0.1)
    for _ in range(10):
        sim.step_once()
    assert isinstance(sim.get_object("beacon"), Beacon)
    assert beacon.get_pose().x == pytest.approx(1.0)
    assert not still.update(0.1)


def test_from_dict_needs_a_name_and_knows_its_keys(sim: MultiRobotSimulationCore) -> None:
    obj = SimObject.from_dict({"name": "a", "pose": [1, 2, 3], "yaw": 0.5, "mass": 2}, sim)
    assert (obj.get_pose().as_position(), obj.mass) == ([1, 2, 3], 2.0)
    assert obj.get_pose().yaw == pytest.approx(0.5)
    before = sim.state_hash()
    with pytest.raises(ValueError, match="name"):
        SimObject.from_dict({"pose": [0, 0, 0]}, sim)
    with pytest.raises(ConfigError, match="Did you mean 'pose'"):
        SimObject.from_dict({"name": "b", "poze": [0, 0, 0]}, sim)
    assert sim.state_hash() == before


def test_from_mesh_reads_the_size_of_the_file(sim: MultiRobotSimulationCore, tmp_path) -> None:
    path = tmp_path / "tetra.obj"
    path.write_text(TETRAHEDRON)
    mesh = SimObject.from_mesh(str(path), Pose((0, 0, 5)), sim_core=sim, name="mesh")
    agent = Agent.from_mesh(str(path), Pose((9, 0, 0)), mesh_scale=(0.5, 0.5, 0.5), sim_core=sim)
    sim.step_once()
    lower, upper = sim.world.aabb_lower[mesh.row], sim.world.aabb_upper[mesh.row]
    assert np.allclose(lower, [0, 0, 5], atol=0.1)
    assert np.allclose(upper, [2, 2, 7], atol=0.1)
    assert np.allclose(sim.world.aabb_upper[agent.row], [10, 1, 1], atol=0.1)
    with pytest.raises(InvalidValueError, match=r"Did you mean 'tetra\.obj'"):
        SimObject.from_mesh(str(tmp_path / "tetr.obj"), sim_core=sim)
    with pytest.raises(InvalidValueError, match="sim_core"):
        SimObject.from_mesh(str(path))


def test_bodies_made_by_hand_join_the_world(sim: MultiRobotSimulationCore) -> None:
    import pybullet

    shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.5] * 3, physicsClientId=sim.client)
    body = pybullet.createMultiBody(0, shape, basePosition=[3, 0, 0], physicsClientId=sim.client)
    obj = SimObject(body, sim, pickable=False, collision_mode="disabled", name="by hand", user_data={"a": 1})
    assert obj.body_id == body
    assert obj.get_pose() == Pose((3, 0, 0))
    assert (obj.pickable, obj.collision_mode.value, obj.user_data) == (False, "disabled", {"a": 1})
    obj.set_pose(Pose((4, 0, 0)))
    assert pybullet.getBasePositionAndOrientation(body, physicsClientId=sim.client)[0] == (4, 0, 0)


def test_static_bodies_collide_when_static_pairs_are_wanted(make_sim) -> None:
    import pybullet

    sim = make_sim(ignore_static_collision=False, enable_floor=False)
    shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.5] * 3, physicsClientId=sim.client)
    body = pybullet.createMultiBody(0, shape, basePosition=[0.6, 0, 0], physicsClientId=sim.client)
    wall = sim.register_static_body(body)
    box = ShapeParams("box", half_extents=(0.2, 0.2, 0.2))
    robot = sim.spawn(AgentSpawnParams(box, box))
    sim.step_once()
    assert wall.is_static
    assert sim.get_active_collision_pairs() == [(wall, robot)]


def test_an_attached_object_is_moved_by_its_carrier_only(crate: SimObject, robot: Agent) -> None:
    robot.attach_object(crate)
    with pytest.raises(StateError, match="attached to 'robot'"):
        crate.set_pose(Pose((3, 3, 3)))


def test_removing_others_during_an_update_skips_nobody(sim: MultiRobotSimulationCore) -> None:
    updated: list[str | None] = []

    class Note(SimObject):
        def update(self, dt: float) -> bool:
            updated.append(self.name)
            if self.name == "a":
                sim.remove_object(sim.get_object("b"))
            return False

    for name in "abcd":
        Note.from_params(SimObjectSpawnParams(name=name), sim)
    sim.step_once()
    assert updated == ["a", "c", "d"]
    assert sim.guard.total == 0


def test_plugins_live_as_long_as_their_agent(sim: MultiRobotSimulationCore) -> None:
    class Battery(AgentPlugin):
        heard: ClassVar[list[str]] = []

        def on_init(self) -> None:
            self.heard.append("init")

        def on_update(self, dt: float) -> None:
            self.heard.append("update")

        def on_destroy(self) -> None:
            self.heard.append("destroy")

    agent = sim.spawn(AgentSpawnParams(plugins=[(Battery, {"soc": 0.5})]))
    plugin = agent.get_plugin(Battery)
    assert plugin is not None
    assert (plugin.agent, plugin.config, agent.plugins) == (agent, {"soc": 0.5}, [plugin])
    sim.step_once()
    sim.remove_object(agent)
    sim.step_once()
    assert Battery.heard == ["init", "update", "destroy"]
    other = sim.spawn(AgentSpawnParams())
    added = other.add_plugin(Battery)
    assert other.remove_plugin(added)
    assert not other.remove_plugin(added)


def test_entities_may_be_spawned_from_inside_a_step(sim: MultiRobotSimulationCore) -> None:
    sim.register_callback(lambda core, dt: core.spawn(SimObjectSpawnParams(name=f"born at {core.step_count}")))
    for _ in range(3):
        sim.step_once()
    assert [obj.name for obj in sim.sim_objects] == ["born at 0", "born at 1", "born at 2"]
    assert sim.guard.total == 0


def test_what_is_carried_can_be_placed_within_a_callback(
    sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject
) -> None:
    seen = []
    robot.attach_object(crate)

    def look(core: MultiRobotSimulationCore, dt: float) -> None:
        robot.set_pose(Pose((4, 4, 0)))
        robot.update_attached_objects_kinematics()
        seen.append(crate.get_pose())

    sim.register_callback(look)
    sim.step_once()
    assert seen == [Pose((4, 4, 0))]


def test_a_handle_refuses_attributes_it_does_not_have(sim: MultiRobotSimulationCore) -> None:
    crate, robot = sim.spawn(SimObjectSpawnParams(name="crate")), sim.spawn(AgentSpawnParams(name="robot"))
    for handle, name in ((robot, "max_linear_vell"), (crate, "colour"), (crate, "position"), (crate, "mass")):
        with pytest.raises(AttributeError):
            setattr(handle, name, 3)
    crate.pickable = False
    assert not crate.pickable


def test_a_subclass_keeps_attributes_of_its_own(sim: MultiRobotSimulationCore) -> None:
    class Carrier(SimObject):
        load = 0

    carrier = Carrier.from_params(SimObjectSpawnParams(name="carrier"), sim)
    carrier.load, carrier.note = 3, "mine"
    assert (carrier.load, carrier.note) == (3, "mine")
    with pytest.raises(AttributeError):
        carrier.position = 3


# ---- Colours given at run time are seen by every camera, by PyBullet's view and in snapshots -------------------------


RED, GREEN, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
BOX = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=RED)
MakeSim = Callable[..., fs.MultiRobotSimulationCore]

renderers = pytest.mark.parametrize("renderer", ["auto", "tiny"])


def box(sim: fs.MultiRobotSimulationCore, x: float = 3.0, **settings: Any) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(x, 0.0, 0.5), **settings))


def brightest(sim: fs.MultiRobotSimulationCore, renderer: str) -> int:
    """The channel that prevails in the middle of the picture of a camera that looks along x."""
    camera = sim.add_sensor("camera", renderer=renderer, pose=[0.0, 0.0, 0.5], channels=["rgb"], width=64, height=48)
    pixel = camera.read().rgb[24, 32]
    sim.remove_sensor(camera)
    return int(pixel.argmax())


def shown(sim: fs.MultiRobotSimulationCore, obj: fs.SimObject, link: int = -1) -> tuple[float, ...]:
    """The colour of a link in PyBullet."""
    return next(tuple(shape[7]) for shape in sim.bullet.getVisualShapeData(obj.body_id) if shape[1] == link)


@renderers
def test_cameras_see_a_new_color_and_the_own_one_again(make_sim: MakeSim, renderer: str) -> None:
    sim = make_sim()
    obj = box(sim)
    assert brightest(sim, renderer) == 0
    obj.set_color(GREEN)
    assert obj.get_color() == GREEN
    assert brightest(sim, renderer) == 1
    obj.set_color(None)
    assert obj.get_color() == RED
    assert brightest(sim, renderer) == 0


@renderers
def test_opacity_0_hides_an_object(make_sim: MakeSim, renderer: str) -> None:
    sim = make_sim()
    near, far = box(sim, 3.0), box(sim, 6.0)
    far.set_color(BLUE)
    near.set_color((1.0, 0.0, 0.0, 0.0))
    assert brightest(sim, "auto") == 2
    near.set_color(RED)
    assert brightest(sim, renderer) == 0


def test_pybullet_and_snapshots_have_it_and_keep_it(make_sim: MakeSim) -> None:
    sim = make_sim()
    obj, other = box(sim), box(sim, 5.0)
    obj.set_color(GREEN)
    assert [shown(sim, each) for each in (obj, other)] == [GREEN, RED]
    sim.rebuild_engine()
    assert shown(sim, obj) == GREEN
    np.testing.assert_array_equal(sim.get_snapshot().colors, [GREEN, [-1.0] * 4])
    later = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(9.0, 0.0, 0.5)))
    assert shown(sim, later) == RED


def test_a_raw_client_sees_a_color_at_once(make_sim: MakeSim) -> None:
    import pybullet

    sim = make_sim()
    obj = box(sim)
    body = obj.body_id
    obj.set_color(BLUE)
    assert tuple(pybullet.getVisualShapeData(body, physicsClientId=sim.client)[0][7]) == BLUE


def test_links_of_a_robot_have_colors_of_their_own(make_sim: MakeSim) -> None:
    sim = make_sim()
    arm = fs.Agent.from_params(fs.AgentSpawnParams(urdf_path="panda", use_fixed_base=True), sim)
    own = arm.get_color("panda_link3")
    link = sim.bullet.getJointInfo  # the number of a link is that of its joint
    number = next(i for i in range(len(arm.link_names)) if link(arm.body_id, i)[12] == b"panda_link3")
    arm.set_color(GREEN, link="panda_link3")
    assert arm.get_color("panda_link3") == GREEN
    assert arm.get_color("panda_link2") == own
    assert shown(sim, arm, number) == GREEN
    assert shown(sim, arm, number - 1) != GREEN
    arm.set_color(BLUE)
    assert {tuple(shape[7]) for shape in sim.bullet.getVisualShapeData(arm.body_id)} == {BLUE}
    arm.set_color(None)
    assert shown(sim, arm, number) == pytest.approx(own)


def test_wrong_colors_are_rejected(make_sim: MakeSim) -> None:
    sim = make_sim()
    obj = box(sim)
    unseen = sim.spawn(fs.SimObjectSpawnParams(None, BOX, fs.Pose.from_xyz(9.0, 0.0, 0.5)))
    with pytest.raises(fs.InvalidValueError, match="from 0 to 1"):
        obj.set_color((255, 0, 0, 1))
    with pytest.raises(fs.InvalidValueError, match="rgba"):
        obj.set_color((1.0, 0.0, 0.0))
    with pytest.raises(fs.InvalidValueError, match="no visual shape"):
        unseen.set_color(RED)
    with pytest.raises(fs.InvalidValueError, match="no link"):
        obj.set_color(RED, link="lid")


def test_a_collision_is_shown_over_a_new_color() -> None:
    params = fs.SimulationParams(gui=False, timestep=0.1, enable_collision_color_change=True)
    with fs.MultiRobotSimulationCore(params, collision_color=BLUE) as sim:
        first, second = box(sim), box(sim, 3.5)
        first.set_color(GREEN)
        sim.bullet.getNumBodies()
        sim.step_once()
        first.set_color((1.0, 1.0, 0.0, 1.0))
        sim.step_once()
        assert [shown(sim, obj) for obj in (first, second)] == [BLUE, BLUE]
        second.set_pose(fs.Pose.from_xyz(9.0, 0.0, 0.5))
        sim.step_once()
        assert [shown(sim, obj) for obj in (first, second)] == [(1.0, 1.0, 0.0, 1.0), RED]


# ---- settings put in place -------------------------------------------------------------------------------------------


@pytest.fixture
def sim_settings_put_in_place() -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, physics=True))


def arm() -> fs.AgentSpawnParams:
    return fs.AgentSpawnParams(urdf_path="arm6", mass=None, use_fixed_base=True)


def test_motors_of_single_joints(sim_settings_put_in_place: fs.MultiRobotSimulationCore) -> None:
    params = arm()
    params.joint_motors["joint_1"] = {"max_force": 3.0}  # type: ignore[assignment]
    assert sim_settings_put_in_place.spawn(params).get_motor("joint_1").max_force == 3.0
    params.joint_motors["joint_1"] = {"max_forc": 3.0}  # type: ignore[assignment]
    with pytest.raises(
        fs.ConfigError, match=r"joint_motors\.joint_1\.max_forc: unknown key\. Did you mean 'max_force'"
    ):
        sim_settings_put_in_place.spawn(params)


def test_features_and_shapes(sim_settings_put_in_place: fs.MultiRobotSimulationCore) -> None:
    params = fs.AgentSpawnParams()
    params.features["batery"] = {}
    with pytest.raises(fs.ConfigError, match="unknown feature 'batery'"):
        sim_settings_put_in_place.spawn(params)
    thing = fs.SimObjectSpawnParams(visual_shape=[fs.ShapeParams("box")])
    assert isinstance(thing.visual_shape, list)
    thing.visual_shape.append("ball")  # type: ignore[arg-type]
    with pytest.raises(fs.ConfigError, match=r"visual_shape\[1\]"):
        sim_settings_put_in_place.spawn(thing)


def test_motors_need_something_to_set(sim_settings_put_in_place: fs.MultiRobotSimulationCore) -> None:
    robot = sim_settings_put_in_place.spawn(arm())
    with pytest.raises(fs.InvalidValueError, match="set_motors: nothing to set; give position_gain"):
        robot.set_motors()
    with pytest.raises(fs.InvalidValueError, match="nothing to set"):
        robot.set_motors("joint_1")


def test_joints_of_inverse_kinematics_are_checked_when_they_are_given(
    sim_settings_put_in_place: fs.MultiRobotSimulationCore,
) -> None:
    params = arm()
    params.ik_params = fs.IKParams(rest_posture={"joint_11": 0.1})
    with pytest.raises(fs.UnknownNameError, match="Did you mean 'joint_1'"):
        sim_settings_put_in_place.spawn(params)
    robot = sim_settings_put_in_place.spawn(arm())
    for wrong, message in (
        (fs.IKParams(rest_posture={"joint_11": 0.1}), "joint_11"),
        (fs.IKParams(rest_posture={"joint_1": 99.0}), "beyond its limits"),
        (fs.IKParams(ik_joint_names=("joint_1", "elbow")), "elbow"),
        (fs.IKParams(ik_joint_names=("arm_mount_joint",)), "does not move"),
    ):
        with pytest.raises(fs.FleetSimError, match=message):
            robot.ik_params = wrong
    assert robot.ik_params == fs.IKParams()


@pytest.mark.parametrize("name", ["joint_positions", "joint_tolerance", "ik_params", "motors"])
def test_settings_of_joints_without_joints_are_refused(
    sim_settings_put_in_place: fs.MultiRobotSimulationCore, name: str
) -> None:
    value = {"joint_positions": [0.1], "joint_tolerance": 0.1, "ik_params": {}, "motors": {"max_force": 1.0}}[name]
    box = fs.ShapeParams("box")
    with pytest.raises(fs.InvalidValueError, match=rf"{name}: need a robot description"):
        sim_settings_put_in_place.spawn(fs.AgentSpawnParams(box, box, **{name: value}))  # type: ignore[arg-type]
