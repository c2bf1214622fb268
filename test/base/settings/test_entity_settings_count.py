"""No setting of an object or an agent is accepted and then ignored.

A setting that is added needs a line here: another value, and what else has to be set for it to count.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from small_bins import small_bin
from small_world import BOX, build, pose, run

import fleet_sim as fs
from fleet_sim import Agent, AgentSpawnParams, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.learning.manipulation import BinScene
from fleet_sim.learning.manipulation.config import load_bin_picking
from fleet_sim.learning.manipulation.scenes import picking_params
from fleet_sim.robots.spawn_params import ControllerParams
from fleet_sim.swarm import RectangularWorld
from fleet_sim.swarm.pictures import draw_world, picture
from fleet_sim.warehouse.equipment import CallLift, LiftSettings, MoveDoors, ServeRobot, build_lift
from fleet_sim.warehouse.rmf import FollowWaypoints, Pause, PauseSlotcar, Waypoint
from fleet_sim.warehouse.sites.site import SortationFloor, Warehouse


def spawned(cls: Any, settings: dict[str, Any]) -> Any:
    """Return what is known of an entity after it has moved a little, among others, with physics."""
    physics = settings.pop("physics", False)
    sim = build({"physics": physics})
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1.2, 0, 0.1)), collision_mode="static", name="wall"))
    shape = {} if "urdf_path" in settings else {"visual_shape": BOX, "collision_shape": BOX}
    entity = sim.spawn(cls(**{**shape, **settings}))
    if physics:
        entity.apply_force([30, 0, 0], [0, 0.1, 0.15])
        return [pose(run(sim, 10) and entity), sim.bullet.getDynamicsInfo(entity.body_id, -1)[:10]]
    world, row = sim.world, entity.row
    known = [
        entity.name,
        entity.mass,
        entity.pickable,
        str(entity.collision_mode),
        repr(entity.user_data),
        world.shapes[world.shape_id[row]],
        len(entity.sensors),
    ]
    if isinstance(entity, Agent):
        known += [entity.motion_mode, repr(entity.joint_tolerance), repr(entity.ik_params), len(entity.plugins)]
        known += [entity.get_all_joints_state() if entity.get_num_joints() else None]
        known += [world.robots.wheel_radius[row] if hasattr(world.robots, "wheel_radius") else None]
        if entity.can_move:
            entity.set_goal_pose(Pose.from_yaw(3.0, 0.0, 0.4, 2.0))
            for _ in range(12):
                sim.step_once()
                known.append(pose(entity))
            entity.set_velocity(0.5, 0, 0)
            run(sim, 30)
    return [*known, pose(entity)]


@dataclass
class Two:
    """Two values of a setting of an entity and what else it needs."""

    value: Any
    others: Any = None


BALL = ShapeParams("sphere", radius=0.3)
MASSIVE = {"mass": 1.0, "physics": True, "initial_pose": Pose((0, 0, 0.1))}
OBJECT: dict[str, Two] = {
    "visual_shape": Two(BALL),
    "collision_shape": Two(BALL),
    "initial_pose": Two(Pose((1, 2, 3))),
    "mass": Two(2.0),
    "pickable": Two(False),
    "name": Two("other"),
    "visual_frame_pose": Two(Pose((0, 0, 1))),
    "collision_frame_pose": Two(Pose((0, 0, 1))),
    "collision_mode": Two("disabled"),
    "friction": Two(0.0, MASSIVE),
    "rolling_friction": Two(0.3, MASSIVE),
    "restitution": Two(1.0, MASSIVE),
    "linear_damping": Two(0.9, MASSIVE),
    "angular_damping": Two(0.9, MASSIVE),
    "user_data": Two({"a": 1}),
    "urdf_path": Two("shelf"),
    "global_scaling": Two(2.0, {"urdf_path": "shelf"}),
}
ARM = {"urdf_path": "arm6"}
AGENT: dict[str, Two] = {
    "urdf_path": Two("mobile_robot"),
    "motion_mode": Two("omnidirectional"),
    "block_on_collision": Two(True),
    "use_fixed_base": Two(True),
    "max_linear_vel": Two(0.3),
    "max_linear_accel": Two(0.3),
    "max_angular_vel": Two(0.3, {"motion_mode": "omnidirectional"}),
    "max_angular_accel": Two(0.3, {"motion_mode": "omnidirectional"}),
    "joint_positions": Two([0.02] * 8, ARM),
    "joint_tolerance": Two(0.5, ARM),
    "ik_params": Two({"max_outer_iterations": 9}, ARM),
    "controller": Two({"max_linear_vel": 0.3}),
    "sensors": Two([{"type": "imu"}]),
}
AGENT_ELSEWHERE = {
    "wheel_radius": "engines/both/test_physics_wheels.py",
    "wheel_separation": "engines/both/test_physics_wheels.py",
    "self_collision": "sensing/collision/test_rules.py",
    "motors": "engines/both/test_motors.py",
    "joint_motors": "engines/both/test_motors.py",
    "mimic_joints": "robots/test_joints.py",
    "plugins": "robots/test_sim_object.py",
    "features": "test_features.py",
    "collision_group": "sensing/collision/test_filters.py",
    "collision_mask": "sensing/collision/test_filters.py",
}
CONTROLLER: dict[str, Any] = {
    "max_linear_vel": 0.3,
    "max_linear_accel": 0.3,
    "max_angular_vel": 0.3,
    "max_angular_accel": 0.3,
    "cmd_vel_timeout": 0.2,
    "navigation_2d": True,
    "default_direction": "backward",
}


@pytest.mark.parametrize("name", OBJECT)
def test_a_setting_of_an_object_counts(name: str) -> None:
    others = dict(OBJECT[name].others or {})
    changed = spawned(SimObjectSpawnParams, {**others, name: OBJECT[name].value})
    assert changed != spawned(SimObjectSpawnParams, others)


@pytest.mark.parametrize("name", AGENT)
def test_a_setting_of_an_agent_counts(name: str) -> None:
    others = dict(AGENT[name].others or {})
    changed = spawned(AgentSpawnParams, {**others, name: AGENT[name].value})
    assert changed != spawned(AgentSpawnParams, others)


@pytest.mark.parametrize("name", CONTROLLER)
def test_a_setting_of_a_controller_counts(name: str) -> None:
    mode = "differential" if name == "default_direction" else "omnidirectional"
    others: dict[str, Any] = {"motion_mode": mode}
    if name == "default_direction":
        others["initial_pose"] = Pose.from_yaw(0, 0, 0, 1.0)
    changed = spawned(AgentSpawnParams, {**others, "controller": {name: CONTROLLER[name]}})
    assert changed != spawned(AgentSpawnParams, others)


def test_every_setting_of_entities_is_looked_at() -> None:
    known = OBJECT.keys() | AGENT.keys() | AGENT_ELSEWHERE.keys()
    assert {field.name for field in fields(AgentSpawnParams)} == known
    # Avoidance needs others that come the other way: motion/test_avoidance.py.
    assert {field.name for field in fields(ControllerParams)} - {"avoidance"} == CONTROLLER.keys()


# ---- equipment settings count ----------------------------------------------------------------------------------------


Sim = fs.MultiRobotSimulationCore
Places = list[list[list[float]]]
CAR = {"shape_type": "cylinder", "radius": 0.2, "height": 0.4}


def places(commands: dict[int, Any], steps: int = 160, lift: dict[str, Any] | None = None, **sections: Any) -> Places:
    """Return where everything is in each step of a scenario, with commands by step."""
    settings = {"gui": False, "monitor": False, "target_rtf": 0, "timestep": 0.05}
    found = []
    with Sim.from_dict({"simulation": settings, **sections}) as sim:
        if lift is not None:
            build_lift(sim, LiftSettings(**lift))
        for step in range(steps):
            for command in commands.get(step, ()):
                sim.inbox.put(command)
            sim.step_once()
            found.append(sim.world.position[sim.world.rows].round(9).tolist())
    return found


DRIVE = {
    0: [FollowWaypoints(robot="car", task="t", path=(Waypoint(0, 0), Waypoint(-0.5, 0.2), Waypoint(2, 0, 1.5)))],
    90: [PauseSlotcar(robot="car", pause=Pause.IMMEDIATELY)],
    100: [PauseSlotcar(robot="car", pause=Pause.RESUME)],
}
SLOTCAR: dict[str, Any] = {
    "speed": 0.3,
    "acceleration": 0.1,
    "max_acceleration": 0.05,
    "turn_speed": 0.3,
    "turn_acceleration": 0.3,
    "max_turn_acceleration": 0.01,
    "stop_distance": 1.2,
    "stop_radius": 1.2,
    "reversible": False,
}


def driven(**slotcar: Any) -> Places:
    limits = {"max_linear_vel": 2.0, "max_linear_accel": 10.0, "max_angular_vel": 3.0, "max_angular_accel": 20.0}
    car = {"name": "car", "pose": [0, 0, 0.2], "shape": CAR, "motion_mode": "differential", **limits}
    other = {"name": "other", "pose": [2.3, 0, 0.2], "shape": CAR}
    return places(DRIVE, 240, robots=[{**car, "slotcar": slotcar}, other])


@pytest.fixture(scope="module")
def usual_drive() -> Places:
    return driven()


@pytest.mark.parametrize("name", SLOTCAR)
def test_settings_of_slotcars(name: str, usual_drive: Places) -> None:
    assert driven(**{name: SLOTCAR[name]}) != usual_drive


DOOR: dict[str, Any] = {
    "begin": [0, -1.5],
    "end": [0, 1.5],
    "kind": "double_sliding",
    "floor": 1.0,
    "height": 3.0,
    "degrees": 45.0,
    "direction": -1,
    "ratio": 2.0,
    "time": 1.0,
    "open": True,
    "automatic": 2.0,
    "hold": 0.5,
    "guarded": False,
}
"""Thickness and colour are seen in pictures only."""


def opened(**door: Any) -> Places:
    usual = {"name": "door", "begin": [0, -1], "end": [0, 1], "kind": "double_swing", "time": 2.0}
    commands = {10: [MoveDoors(names=("door",))], 60: [MoveDoors(names=("door",), open=False)]}
    # Somebody stands in its way, as long as it opens, and leaves.
    standing = {"name": "r", "pose": [-0.5, 0.5, 0.2], "shape": CAR, "motion_mode": "omnidirectional"}
    leave = fs.SetVelocity(names=("r",), linear=[[-1.0, 0, 0]], angular=[[0, 0, 0]])
    commands[90] = [leave]
    return places(commands, 220, robots=[standing], doors={"list": [{**usual, **door}]})


@pytest.mark.parametrize("name", DOOR)
def test_settings_of_doors(name: str) -> None:
    more = {"automatic": 2.0} if name == "hold" else {}
    assert opened(**more, **{name: DOOR[name]}) != opened(**more)


LIFT: dict[str, Any] = {
    "speed": 0.5,
    "accel": 0.2,
    "dwell": 0.1,
    "yaw": 0.5,
    "width": 3.0,
    "depth": 3.0,
    "height": 3.0,
    "initial": "L2",
    "door_time": 0.5,
    "position": (1.0, 1.0),
}


def lifted(**lift: Any) -> Places:
    floors = [{"name": "L1", "height": 0.0}, {"name": "L2", "height": 3.0}]
    usual = {"name": "lift", "position": (0.0, 0.0), "floors": floors, "doors": [{"name": "front", "x": -1.0}]}
    calls = [CallLift(lift="lift", floor=floor) for floor in ("L2", "L1")]
    return places({0: calls}, 400, lift={**usual, "door_time": 1.0, **lift})


@pytest.fixture(scope="module")
def usual_lift() -> Places:
    """Where everything is with a lift of which no setting was changed."""
    return lifted()


@pytest.mark.parametrize("name", LIFT)
@pytest.mark.slow
def test_settings_of_lifts(name: str, usual_lift: Places) -> None:
    assert lifted(**{name: LIFT[name]}) != usual_lift


def served(name: str, **cell: Any) -> Places:
    box = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
    cells = [
        {"name": "giver", "pose": [0, 0, 0.5], "shape": box, "workcell": {"kind": "dispenser"}},
        {"name": "taker", "pose": [3, 0, 0.5], "shape": box, "workcell": {"kind": "ingestor"}},
        {"name": "thing", "pose": [0.5, 0, 0.5], "shape": box},
    ]
    next(one for one in cells if one["name"] == name)["workcell"].update(cell)  # type: ignore[attr-defined]
    ask = {
        step: [ServeRobot(cell=asked, robots=("car",), request=asked)] for step, asked in ((5, "giver"), (20, "taker"))
    }
    return places(ask, robots=[{"name": "car", "pose": [1, 1, 0.2], "shape": CAR}], objects=cells)


def test_settings_of_work_cells() -> None:
    usual = served("giver")
    assert served("giver", reach=0.1) != usual
    assert served("giver", kind="ingestor") != usual
    assert served("taker", keep=1.0) != usual


def test_settings_of_conveyors() -> None:
    def carried(**conveyor: Any) -> Places:
        belt = {"shape_type": "box", "half_extents": [2, 0.3, 0.2]}
        box = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
        things = [
            {"name": "belt", "pose": [0, 0, 0.2], "shape": belt, "conveyor": conveyor},
            {"name": "box", "pose": [0, 0, 0.5], "shape": box},
        ]
        return places({}, 20, objects=things)

    usual = carried()
    assert carried(speed=0.2) != usual and carried(running=False) != usual


# ---- Settings of sites, pictures of swarms and bin picking, each changed: something else comes of it -----------------


@pytest.mark.parametrize("cls", [Warehouse, SortationFloor])
def test_settings_of_generated_sites(cls: Any) -> None:
    usual = cls().site()
    for name in fields_of(cls):
        value = getattr(cls(), name)
        site = cls(**{name: 2 * value}).site()
        same_grid = np.array_equal(site.grid.free_mask, usual.grid.free_mask) and site.grid.cell == usual.grid.cell
        assert not same_grid or len(site.stations) != len(usual.stations), name


PICTURED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "body_filled": ({}, {"body_filled": False}),
    "body_color": ({}, {"body_color": [255, 0, 0]}),
    "trace_color": ({"trace_length": 20}, {"trace_length": 20, "trace_color": [255, 0, 0]}),
    "trace_length": ({}, {"trace_length": 20}),
}


def drawn(agent: dict[str, Any], **world: Any) -> bytes:
    controller = {"type": "StaticController", "output": [0.5, 0.2]}
    moving = {"type": "MazeAgent", "position": [1, 1], "agent_radius": 0.3, "controller": controller}
    made = RectangularWorld({"size": [4, 4], "time_step": 0.1, "agents": [{**moving, **agent}], **world})
    made.setup()
    made.evaluate(10)
    canvas = picture(made, 120)
    draw_world(made, canvas)
    return np.asarray(canvas.image).tobytes()


@pytest.mark.parametrize("name", PICTURED)
def test_settings_of_pictures_of_agents(name: str) -> None:
    usual, changed = PICTURED[name]
    assert drawn(changed) != drawn(usual)


def test_settings_of_pictures_of_worlds() -> None:
    assert drawn({}, show_walls=False) != drawn({})
    assert drawn({}, background_color=[1, 2, 3]) != drawn({})


ENGINE: dict[str, Any] = {
    "number-of-sub-steps": 9,
    "number-of-solver-iterations": 7,
    "contact-erp": 0.7,
    "enable-windows": True,
    "sim-mode": "gpu-gui",
    "timestep": 0.02,
    "gravity": -1.0,
}


@pytest.mark.parametrize("name", ENGINE)
def test_settings_of_the_engine_of_bin_picking(name: str) -> None:
    usual, changed = (picking_params(load_bin_picking({"simulation": given})) for given in ({}, {name: ENGINE[name]}))
    assert changed != usual


def lying(steps: int, **objects: Any) -> tuple[Any, Any]:
    """Return where things lie after a reset, and after more steps."""
    config = small_bin(objects=(4, 4))
    config["scene"]["bin"]["objects"].update(objects.pop("bin", {}))
    config["simulation"].update(objects)
    scene = BinScene(config=config)
    scene.reset(rng=np.random.default_rng(1))
    places = [[thing.get_pose().position for thing in scene.pick_bin.objects]]
    for _ in range(steps):
        scene.sim.step_once()
    places.append([thing.get_pose().position for thing in scene.pick_bin.objects])
    scene.sim.close()
    return places[0], places[1]


def test_settings_of_what_lies_in_a_bin() -> None:
    usual, later = lying(20, **{"objects-sleep": False})
    assert lying(0, bin={"heaps-per-kind": 1}, **{"objects-sleep": False})[0] != usual
    asleep, still = lying(20, **{"objects-sleep": True})
    assert np.allclose(still, asleep, atol=1e-6) and np.allclose(asleep, usual, atol=1e-6)
    assert np.abs(np.array(later) - usual).max() > 10 * np.abs(np.array(still) - asleep).max()


def test_the_workspace_of_an_arm_counts() -> None:
    ends = []
    for clips in (True, False):
        scene = BinScene(config=small_bin(arms={"arm-1": {"clip-delta-actions-to-workspace": clips}}))
        scene.reset(rng=np.random.default_rng(1))
        scene.arms[0].apply_action_delta([0.0, 0.3, 0.0, 0.0, 1.0])
        ends.append(scene.arms[0].get_gripper_state()[0].tolist())
        scene.sim.close()
    assert abs(ends[0][1] - ends[1][1]) > 0.02
