"""What actions take is declared once: their constructors, files and messages read the same settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fleet_sim import Drop, JointAction, JointTrajectoryAction, MoveAction, MoveTo, Pick, Pose, PoseAction, Wait
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.robots.actions import Action, parse_action_goal
from fleet_sim.robots.actions.action import DeclaredAction

DECLARED = {"move": MoveAction, "move_to": MoveTo, "pick": Pick, "drop": Drop, "wait": Wait, "joint": JointAction}
DOCUMENTED = {
    Pick: "target_object_id target_position search_radius attach_link attach_relative_pose use_approach "
    "approach_offset ee_target_position continue_on_ik_failure",
    Drop: "drop_pose drop_relative_pose target_object_id place_gently use_approach approach_offset drop_offset "
    "ee_target_position continue_on_ik_failure",
    MoveTo: "target_pose tolerance",
    Wait: "duration",
    JointAction: "target_joint_positions tolerance max_force",
    JointTrajectoryAction: "joint_names times positions velocities path_tolerance goal_tolerance goal_time_tolerance "
    "start_time_wanted max_force",
    PoseAction: "target_position target_orientation end_effector_link tolerance max_force",
}


@pytest.mark.parametrize("cls", [*DECLARED.values(), PoseAction, JointTrajectoryAction])
def test_every_parameter_says_what_it_is(cls: type[Action]) -> None:
    for name, field in fields_of(cls).items():
        assert field.rules.doc, f"{cls.__name__}.{name}"


@pytest.mark.parametrize("cls", DOCUMENTED)
def test_documented_parameters_are_there(cls: type[Action]) -> None:
    assert set(DOCUMENTED[cls].split()) <= set(fields_of(cls))


def test_pick_and_drop_share_what_they_take_about_the_arm() -> None:
    shared = {name: field for name, field in fields_of(Pick).items() if name.startswith(("joint_", "ee_"))}
    assert len(shared) == 7
    assert all(fields_of(Drop)[name].rules is field.rules for name, field in shared.items())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Wait(-1.0), r"duration: must be a number at least 0 \(s\), got -1.0"),
        (lambda: Pick("box", search_radius="far"), "search_radius: must be a number"),
        (lambda: Pick("box", use_2d_search=1), "use_2d_search: must be true or false, got 1"),
        (lambda: Pick(True), "target_object_id: must be a SimObject, a name, or a whole number"),
        (lambda: Pick("box", ee_target_position=(1.0, 2.0)), "ee_target_position: must be 3 finite numbers"),
        (lambda: Pick("box", use_arm=True, ee_target_orientation=(0.0, 0.0, 0.0, 0.0)), "ee_target_orientation"),
        (lambda: Drop((0, 0, 0), drop_relative_pose=(1, 2, 3)), "drop_relative_pose: must be Pose or null"),
        (lambda: PoseAction(None), "target_position"),
        (lambda: JointTrajectoryAction(["j", "j"], [1.0], [[0.0, 0.0]]), "joint_names: expected at least one name"),
        (lambda: JointTrajectoryAction(["j"], [2.0, 1.0], [[0.0], [1.0]]), "times: expected numbers of at least 0"),
        (lambda: JointTrajectoryAction(["j"], [1.0], [[0.0]], start_time_wanted=float("nan")), "start_time_wanted"),
        (lambda: JointTrajectoryAction(["j"], [1.0], [[0.0]], path_tolerance={"k": 0.1}), "path_tolerance: 'k'"),
        (lambda: PoseAction((0, 0, 0), timeout=-1.0), "timeout: must be a number at least 0"),
    ],
)
def test_wrong_parameters_are_refused_by_name(make: Callable[[], Action], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: Drop((0, 0, 0), False), lambda: Pick("box", None, 0.5, True, False)])
def test_what_is_rarely_given_is_given_by_name(make: Callable[[], Action]) -> None:
    with pytest.raises(TypeError, match="positional"):
        make()


def test_numbers_come_in_any_form() -> None:
    pick = Pick(np.int64(4), target_position=np.arange(3), search_radius=np.float32(0.5), pick_offset=1)
    assert (pick.target_object_id, pick.search_radius, pick.pick_offset) == (4, 0.5, 1.0)
    assert Drop([1, 2, 3]).drop_pose == Drop(Pose((1, 2, 3))).drop_pose == Pose((1, 2, 3))


def test_a_file_says_no_more_and_no_less_than_the_constructor() -> None:
    given = {"use_approach": False, "use_arm": True, "ee_tolerance": 0.01, "timeout": 5}
    pick = parse_action_goal("pick", {"target_object_id": "box", **given})
    assert isinstance(pick, Pick)
    assert {name: getattr(pick, name) for name in given} == given
    for wrong, message in (({"ee_tolerence": 1}, "'ee_tolerance'"), ({"ee_tolerance": "1"}, "ee_tolerance: must be")):
        with pytest.raises(InvalidValueError, match=message):
            parse_action_goal("pick", wrong)


def test_actions_of_ones_own_are_declared_the_same_way() -> None:
    @dataclass(eq=False, repr=False)
    class Beep(DeclaredAction):
        tone: float = setting(440.0, low=20.0, unit="Hz", doc="How high.")

        def __post_init__(self) -> None:
            super().__post_init__()
            self.beeps: list[Any] = []

    beep = Beep(880, timeout=2.0)
    assert (beep.tone, beep.timeout, beep.beeps, beep.status) == (880.0, 2.0, [], "not_started")
    assert beep in [beep]
    with pytest.raises(InvalidValueError, match=r"tone: must be a number at least 20 \(Hz\)"):
        Beep(tone=1)
