"""Causes of the simulation as values of fleet_sim_msgs/msg/Cause."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")

from fleet_sim import ActionCause, MoveTo, Pose
from fleet_sim.ros.actions.goals import CODES, cause_of_action
from fleet_sim_msgs.msg import Cause


def test_every_cause_has_the_value_of_its_name() -> None:
    spelled = {ActionCause.CANCELLED: "CANCELED"}
    assert {cause: getattr(Cause, spelled.get(cause, cause.name)) for cause in ActionCause} == CODES


def test_the_texts_are_those_of_the_action() -> None:
    action = MoveTo(Pose((1.0, 0.0, 0.0)))
    action.cancel("not today", ActionCause.PREEMPTED)
    assert cause_of_action(action) == (Cause.PREEMPTED, "not today")
    action = MoveTo(Pose((1.0, 0.0, 0.0)))
    action.complete()
    assert cause_of_action(action) == (Cause.NONE, "")
