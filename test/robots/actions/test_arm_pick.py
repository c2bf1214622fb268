"""Pick and Drop with an arm: by joint targets, by a target of the end effector, by reaching for the object itself."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest
from arms import ARM_JOINTS, PANDA, READY, spawn_panda
from example import load_example
from small_world import Finish

from fleet_sim import (
    Action,
    ActionStatus,
    Agent,
    AgentSpawnParams,
    Drop,
    InvalidValueError,
    MoveTo,
    MultiRobotSimulationCore,
    Pick,
    PickPhase,
    Pose,
    PoseAction,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    parse_action_goal,
)
from fleet_sim.base.files import data_file

BOX = ShapeParams("box", half_extents=(0.03, 0.03, 0.03))
PLACE = (0.5, 0.1, 0.2)
DOWN = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture
def arm(sim: MultiRobotSimulationCore) -> Agent:
    return spawn_panda(sim, use_fixed_base=True)


@pytest.fixture
def rover(sim: MultiRobotSimulationCore) -> Agent:
    """Return an arm that drives."""
    return spawn_panda(sim, "rover", motion_mode="omnidirectional")


@pytest.fixture
def box(sim: MultiRobotSimulationCore) -> SimObject:
    obj: SimObject = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose(PLACE), name="box"))
    return obj


def near(obj: SimObject, place: object, tolerance: float = 0.021) -> bool:
    return bool(np.linalg.norm(np.subtract(obj.get_pose().position, place)) <= tolerance)


def run(agent: Agent, action: Action, finish: Finish) -> Action:
    agent.add_action(action)
    return finish(action)


def test_joint_targets_bring_the_arm_there_first(arm: Agent, box: SimObject, finish: Finish) -> None:
    pick = Pick(
        "box", use_approach=False, joint_targets={ARM_JOINTS[0]: 0.5, ARM_JOINTS[3]: -1.5}, attach_link="panda_hand"
    )
    assert run(arm, pick, finish).status is ActionStatus.COMPLETED
    assert arm.are_joints_at_targets({ARM_JOINTS[0]: 0.5, ARM_JOINTS[3]: -1.5})
    assert pick.get_duration() > 0.1
    assert box.attached_to == arm
    assert near(box, arm.get_link_pose("panda_hand").position, 1e-9)

    drop = Drop(drop_relative_pose=Pose((0.0, 0.0, 0.1)), use_approach=False, joint_targets=READY)
    held = arm.get_link_pose("panda_hand")
    assert run(arm, drop, finish).status is ActionStatus.COMPLETED
    assert not box.is_attached()
    assert held.distance_to(box.get_pose()) > 0.1
    assert near(box, (arm.get_link_pose("panda_hand") * Pose((0.0, 0.0, 0.1))).position, 1e-2)


def test_an_end_effector_target_brings_the_hand_there_first(arm: Agent, box: SimObject, finish: Finish) -> None:
    above = (0.5, 0.1, 0.3)
    pick = Pick(
        "box",
        use_approach=False,
        ee_target_position=above,
        ee_target_orientation=DOWN,
        ee_end_effector_link="panda_hand",
        attach_link="panda_hand",
        keep_world_pose=True,
    )
    assert run(arm, pick, finish).status is ActionStatus.COMPLETED
    assert arm.are_ee_at_target(above, DOWN, "panda_hand")
    assert near(box, PLACE, 1e-9)
    drop = Drop((0.4, -0.3, 0.2), use_approach=False, ee_target_position=(0.4, -0.3, 0.3), ee_target_orientation=DOWN)
    assert run(arm, drop, finish).status is ActionStatus.COMPLETED
    assert near(box, (0.4, -0.3, 0.2), 1e-9)


def test_the_arm_finds_the_object_and_the_place_by_itself(arm: Agent, box: SimObject, finish: Finish) -> None:
    pick = Pick("box", use_approach=False, use_arm=True)
    assert run(arm, pick, finish).status is ActionStatus.COMPLETED
    assert arm.are_ee_at_target(PLACE)
    assert near(box, PLACE, 1e-9)
    assert arm.world.parent_link[box.row] == arm.end_effector()
    drop = Drop((0.4, -0.3, 0.25), use_approach=False, use_arm=True)
    assert run(arm, drop, finish).status is ActionStatus.COMPLETED
    assert near(box, (0.4, -0.3, 0.25), 1e-9)
    assert near(box, arm.get_end_effector_pose().position, 0.05)


def test_a_hand_held_above_the_object_takes_it_where_it_is(arm: Agent, box: SimObject, finish: Finish) -> None:
    offset = Pose((0.0, 0.0, 0.1))
    pick = Pick(
        "box",
        use_approach=False,
        use_arm=True,
        ee_target_orientation=DOWN,
        attach_relative_pose=offset,
        ee_tolerance=1e-3,
    )
    assert run(arm, pick, finish).status is ActionStatus.COMPLETED
    assert arm.are_ee_at_target((0.5, 0.1, 0.3), DOWN, tolerance=2e-3)
    assert near(box, PLACE, 2e-3)
    drop = Drop((0.4, -0.3, 0.2), use_approach=False, use_arm=True, ee_target_orientation=DOWN, ee_tolerance=1e-3)
    assert run(arm, drop, finish).status is ActionStatus.COMPLETED
    assert arm.are_ee_at_target((0.4, -0.3, 0.3), DOWN, tolerance=2e-3)


def test_a_mobile_arm_drives_there_reaches_out_and_drives_back(
    sim: MultiRobotSimulationCore, rover: Agent, finish: Finish
) -> None:
    box = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((4.0, 0.0, 0.5)), name="box"))
    pick = Pick("box", approach_offset=1.5, pick_offset=0.5, use_arm=True)
    phases: list[PickPhase] = []
    sim.register_callback(lambda core, dt: phases.append(pick.phase), None)
    assert run(rover, pick, finish).status is ActionStatus.COMPLETED
    assert list(dict.fromkeys(phases)) == [
        PickPhase.APPROACHING,
        PickPhase.MOVING_TO_PICK,
        PickPhase.PICKING,
        PickPhase.RETREATING,
    ]
    assert phases.count(PickPhase.PICKING) >= 2
    assert rover.get_pose().x == pytest.approx(2.5)
    assert box.attached_to == rover
    assert near(box, (2.5 + 0.5, 0.0, 0.5))
    rover.add_action(MoveTo(Pose((0.0, 3.0, 0.0))))
    drop = Drop((0.0, 5.0, 0.4), approach_offset=1.5, drop_offset=0.5, use_arm=True)
    assert run(rover, drop, finish).status is ActionStatus.COMPLETED
    assert near(box, (0.0, 5.0, 0.4), 1e-9)


def test_what_is_out_of_reach_is_taken_all_the_same_unless_told_otherwise(
    arm: Agent, box: SimObject, finish: Finish
) -> None:
    far = (2.0, 0.0, 0.3)
    strict = Pick("box", use_approach=False, ee_target_position=far, continue_on_ik_failure=False)
    run(arm, strict, finish)
    assert (strict.status, strict.error_message) == (ActionStatus.FAILED, "IK target was not reachable")
    assert not box.is_attached()
    lenient = Pick("box", use_approach=False, ee_target_position=far, attach_link="panda_hand")
    assert run(arm, lenient, finish).status is ActionStatus.COMPLETED
    assert box.attached_to == arm


def test_two_ways_to_place_the_arm_at_once_are_refused() -> None:
    for make in (
        lambda: Pick("box", joint_targets=READY, ee_target_position=PLACE),
        lambda: Pick("box", joint_targets=READY, use_arm=True),
        lambda: Pick("box", ee_target_orientation=DOWN),
        lambda: Pick("box", attach_relative_pose=Pose((0, 0, 1)), keep_world_pose=True),
        lambda: Drop(),
        lambda: Drop(use_approach=False, use_arm=True),
    ):
        with pytest.raises(InvalidValueError):
            make()


def test_what_can_never_work_fails_before_anything_moves(
    sim: MultiRobotSimulationCore, rover: Agent, box: SimObject
) -> None:
    cart = sim.spawn(AgentSpawnParams(BOX, BOX, name="cart"))
    for agent, pick, cause in (
        (rover, Pick("box", joint_targets=[1.0, 2.0]), "2"),
        (rover, Pick("box", joint_targets={"panda_joint0": 1.0}), "Did you mean 'panda_joint"),
        (rover, Pick("box", joint_targets={ARM_JOINTS[0]: 9.0}), "limit"),
        (rover, Pick("box", joint_targets=READY, joint_tolerance=-1.0), "tolerance"),
        (rover, Pick("box", ee_target_position=PLACE, ee_end_effector_link="hand"), "hand"),
        (rover, Pick("box", attach_link="panda_hnad"), "panda_hand"),
        (cart, Pick("box", joint_targets=READY), "no joints"),
        (cart, Pick("box", attach_link=2), "base link"),
        (rover, Drop(PLACE, joint_targets=[1.0]), "1"),
    ):
        agent.add_action(pick)
        before = agent.get_pose()
        sim.step_once()
        assert pick.status is ActionStatus.FAILED, pick
        assert cause in str(pick.error_message), pick.error_message
        assert agent.get_pose() == before


@pytest.fixture
def reaching(sim: MultiRobotSimulationCore, arm: Agent, box: SimObject) -> Pick:
    """Return a pick that has begun to move the arm."""
    pick = Pick("box", use_approach=False, joint_targets={ARM_JOINTS[0]: 2.0})
    arm.add_action(pick)
    sim.step_once()
    return pick


def test_an_object_taken_away_meanwhile_ends_the_pick(
    sim: MultiRobotSimulationCore, reaching: Pick, box: SimObject, finish: Finish
) -> None:
    sim.remove_object(box)
    finish(reaching)
    assert (reaching.status, reaching.error_message) == (ActionStatus.FAILED, "Target object not found or not pickable")


def test_a_joint_command_and_a_timeout_stop_the_arm(
    sim: MultiRobotSimulationCore, arm: Agent, reaching: Pick, box: SimObject, finish: Finish
) -> None:
    arm.set_joint_target(ARM_JOINTS[0], 0.0)
    assert reaching.status is ActionStatus.CANCELLED
    late = Pick("box", use_approach=False, joint_targets={ARM_JOINTS[0]: 2.0}, timeout=0.3)
    run(arm, late, finish)
    assert late.error_message == "timed out after 0.3 s"
    stopped = arm.joint_positions
    sim.step_once()
    assert np.array_equal(arm.joint_positions, stopped)
    assert not box.is_attached()


def test_arm_parameters_by_name(arm: Agent, box: SimObject, finish: Finish) -> None:
    pick = parse_action_goal(
        "pick",
        '{"target_object_id": "box", "use_approach": false, "ee_target_position": [0.5, 0.1, 0.2], '
        '"ee_target_orientation": [1, 0, 0, 0], "attach_link": "panda_hand", "attach_relative_pose": [0, 0, 0.1]}',
    )
    assert run(arm, pick, finish).status is ActionStatus.COMPLETED
    drop = parse_action_goal("drop", {"use_approach": False, "joint_targets": READY})
    assert run(arm, drop, finish).status is ActionStatus.COMPLETED
    assert not box.is_attached()


# ---- The example of a mobile manipulator and the scenarios of arms do what they say ----------------------------------


def test_a_parcel_is_brought_from_the_shelf_to_the_station(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mobile_manipulator.py"])
    example = load_example("mobile_manipulator")
    example.main()
    assert [action.status for action in example.STEPS.values()] == [ActionStatus.COMPLETED] * 3
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert said[-1].endswith("the parcel is at 0.00, 2.85, 0.75")


def test_nothing_collides_on_the_way_but_what_is_touched_on_purpose() -> None:
    with MultiRobotSimulationCore.from_yaml(data_file("config", "mobile_manipulator.yaml")) as sim:
        sim.step_once()
        robot = sim.get_object("mm")
        assert not any(robot.row in pair for pair in sim.collisions.pairs.tolist())


def test_the_scenario_of_two_arms_runs() -> None:
    with MultiRobotSimulationCore.from_yaml(data_file("config", "arm.yaml")) as sim:
        arm, rail = sim.get_object("arm"), sim.get_object("rail")
        pick = Pick("cube_0", use_approach=False, use_arm=True, ee_end_effector_link="tcp_link")
        arm.add_action(pick)
        rail.set_joint_target("rail_joint", 1.0)
        for _ in range(200):
            sim.step_once()
        assert pick.status is ActionStatus.COMPLETED
        assert sim.get_object("cube_0").attached_to == arm
        assert rail.are_joints_at_targets({"rail_joint": 1.0})


# ---- PoseAction: the end effector gets there, or the action says why not; it never hangs -----------------------------


TARGET = (0.45, 0.2, 0.35)
FAR = (2.0, 0.0, 0.4)


def away(agent: Agent, target: tuple[float, float, float]) -> float:
    return float(np.linalg.norm(np.subtract(agent.get_end_effector_pose().position, target)))


def test_it_completes_when_joints_and_end_effector_are_there(arm: Agent, finish: Finish) -> None:
    action = PoseAction(TARGET)
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert action.error_message is None
    assert away(arm, TARGET) <= 0.02
    assert 0.1 < action.get_duration() < 3.0


def test_it_costs_nothing_while_the_joints_move(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    updates: list[float] = []

    class Watched(PoseAction):
        def update(self, agent: Agent, dt: float):
            updates.append(sim.sim_time)
            return super().update(agent, dt)

    action = Watched((-0.45, 0.2, 0.35))
    arm.add_action(action)
    finish(action)
    assert action.get_duration() > 0.5
    assert len(updates) <= 2


def test_it_turns_the_end_effector_too(arm: Agent, finish: Finish) -> None:
    down = (1.0, 0.0, 0.0, 0.0)
    action = PoseAction(TARGET, down, "panda_hand", tolerance=0.001)
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert arm.are_ee_at_target(TARGET, down, "panda_hand", 0.001)


def test_an_end_effector_that_is_there_completes_at_once(
    sim: MultiRobotSimulationCore, arm: Agent, finish: Finish
) -> None:
    before = arm.joint_positions
    action = PoseAction(arm.get_end_effector_pose().as_position())
    arm.add_action(action)
    sim.step_once()
    assert action.status is ActionStatus.COMPLETED
    assert np.array_equal(arm.joint_positions, before)


def test_what_is_out_of_reach_is_approached_and_fails_when_settled(
    arm: Agent, finish: Finish, caplog: pytest.LogCaptureFixture
) -> None:
    before = away(arm, FAR)
    action = PoseAction(FAR)
    arm.add_action(action)
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        finish(action)
    assert (action.status, action.error_message) == (ActionStatus.FAILED, "IK target was not reachable")
    assert "not reachable" in caplog.text
    assert "arm" in caplog.text
    assert away(arm, FAR) < before - 0.2
    assert action.get_duration() > 0.2
    assert not arm.joint_velocities.any()


def test_misuse_fails_at_once_with_the_cause(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    box = sim.spawn(AgentSpawnParams(name="box"))
    for agent, action, cause in (
        (box, PoseAction(TARGET), "no joints"),
        (arm, PoseAction(TARGET, end_effector_link="panda_hnad"), "Did you mean 'panda_hand'"),
        (arm, PoseAction(TARGET, end_effector_link=40), "40"),
    ):
        agent.add_action(action)
        sim.step_once()
        assert action.status is ActionStatus.FAILED
        assert cause in str(action.error_message)


def test_it_times_out_and_stops_the_arm(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    action = PoseAction((-0.45, 0.2, 0.35), timeout=0.3)
    arm.add_action(action)
    finish(action)
    assert (action.status, action.error_message) == (ActionStatus.FAILED, "timed out after 0.3 s")
    stopped = arm.joint_positions
    sim.step_once()
    assert np.array_equal(arm.joint_positions, stopped)


def test_cancelling_stops_the_arm_and_driving_does_not(sim: MultiRobotSimulationCore, finish: Finish) -> None:
    rover = Agent.from_urdf(PANDA, motion_mode="omnidirectional", sim_core=sim, joint_positions=READY)
    action = PoseAction((-0.45, 0.2, 0.35))
    rover.add_action(action)
    sim.step_once()
    rover.set_velocity(0.5)
    sim.step_once()
    assert action.status is ActionStatus.IN_PROGRESS
    assert "did the base move?" in str(finish(action).error_message)
    other = PoseAction((-0.45, 0.2, 0.35))
    rover.add_action(other)
    sim.step_once()
    rover.set_joint_target(ARM_JOINTS[6], 0.0)
    assert other.status is ActionStatus.CANCELLED


def test_it_can_be_used_again_and_by_name(arm: Agent, finish: Finish) -> None:
    action = parse_action_goal("pose", {"target_position": list(TARGET), "end_effector_link": "panda_hand"})
    assert isinstance(action, PoseAction)
    arm.add_action(action)
    finish(action)
    arm.set_joint_positions(READY)
    action.reset()
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert away(arm, TARGET) <= 0.02


def test_progress_tells_how_far_it_is(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    action = PoseAction((-0.45, 0.2, 0.35))
    arm.add_action(action)
    sim.step_once()
    first = action.progress(arm)["distance_left"]
    sim.step_once()
    sim.step_once()
    assert action.progress(arm)["distance_left"] < first
    assert action.progress(arm)["phase"] == "moving"


def test_motors_bring_the_end_effector_there(make_sim) -> None:
    sim = make_sim(physics=True, timestep=1 / 240, collision_check_frequency=0)
    arm = Agent.from_urdf(PANDA, mass=None, use_fixed_base=True, sim_core=sim, joint_positions=READY)
    assert arm.uses_motors
    action = PoseAction(TARGET)
    arm.add_action(action)
    for _ in range(1200):
        if action.is_complete():
            break
        sim.step_once()
    assert action.status is ActionStatus.COMPLETED, action.error_message
    assert away(arm, TARGET) <= 0.02
