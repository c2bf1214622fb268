"""The example of a mobile manipulator and the scenarios of arms do what they say."""

from __future__ import annotations

import sys

import pytest
from example import load_example

from fleet_sim import ActionStatus, MultiRobotSimulationCore, Pick
from fleet_sim.base.files import data_file


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
