"""No setting of an object or an agent is accepted and then ignored.

A setting that is added needs a line here: another value, and what else has to be set for it to count.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pytest
from small_world import BOX, build, pose, run

from fleet_sim import Agent, AgentSpawnParams, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawn_params import ControllerParams


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
    "self_collision": "sensing/collision/test_self_collisions.py",
    "motors": "engines/both/test_motors.py",
    "joint_motors": "engines/both/test_motors.py",
    "mimic_joints": "robots/test_mimic_joints.py",
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
