"""No parameter of an action is accepted and then ignored: each one, changed, changes how the action goes.

A parameter that is added needs a line here: another value, and what else has to be set for it to count.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from small_world import BOX, build, pose

import fleet_sim as fs
from fleet_sim import (
    AgentSpawnParams,
    DriveByAction,
    Drop,
    FleetSimError,
    JointAction,
    JointTrajectoryAction,
    MoveAction,
    MoveTo,
    Path,
    Pick,
    Pose,
    PoseAction,
    SimObjectSpawnParams,
    TourAction,
    TurnAction,
    Wait,
    register_action,
)
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.robots.actions import Action, parse_action_goal
from fleet_sim.robots.actions.action import DeclaredAction


def carried_out(make: Callable[..., Any], settings: dict[str, Any], *, walled: bool = False, **later: Any) -> Any:
    """Return how an action goes: where the robot and two crates are after each step, and how it ends.

    Parameters in `later` are set before a robot gets it. `walled`: the robot stops before a wall around it.
    """
    sim = build({})
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, name="robot", block_on_collision=walled))
    for x, y in ((0.8, 0.0), (-0.8, 0.0), (0.0, 0.8), (0.0, -0.8)) if walled else ():
        sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((x, y, 0.0)), collision_mode="static", pickable=False))
    for name, x, y in (("near", 2.0, 0.0), ("far", 2.0, 1.0)):
        sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((x, y, 0.3)), name=name))
    if make is Drop:
        robot.attach_object(sim.get_object("near"))
        robot.attach_object(sim.get_object("far"))
    action = make(**settings)
    for name, value in later.items():
        setattr(action, name, value)
    robot.execute_action(action)
    seen = []
    for _ in range(160):
        sim.step_once()
        seen.append([pose(entity) for entity in sim.sim_objects])
    return seen, str(action.status), repr(getattr(action, "action_type", None))


WAY = [Pose((1, 0, 0)), Pose.from_yaw(1, 1, 0, 2.0)]
PICK = {"search_radius": 5.0}
DROP = {"drop_pose": Pose((3, 0, 0))}
ACTIONS: list[tuple[Any, str, Any, dict[str, Any]]] = [
    (MoveTo, "target_pose", Pose((2, 1, 0)), {"target_pose": Pose((1, 1, 0))}),
    (MoveAction, "path", Path([Pose((0, 2, 0))]), {"path": Path(WAY)}),
    *((cls, name, value, others)
      for cls, others in ((MoveTo, {"target_pose": WAY[1]}), (MoveAction, {"path": Path(WAY)}))
      for name, value in (("final_orientation_align", False), ("direction", "backward"), ("tolerance", 0.3),
                          ("timeout", 0.2),
                          # It fails here, where there is no map; in test/warehouse/traffic it drives around walls.
                          ("route", True))),
    (MoveTo, "keep_height", True, {"target_pose": Pose((1, 1, 1))}),
    (MoveAction, "keep_height", True, {"path": Path([Pose((1, 1, 1))])}),
    (MoveTo, "blocked_timeout", 0.5, {"target_pose": Pose((3, 0, 0))}),
    (MoveAction, "blocked_timeout", 0.5, {"path": Path([Pose((3, 0, 0))])}),
    (TourAction, "blocked_timeout", 0.5, {"path": Path([Pose((3, 0, 0))])}),
    (TourAction, "path", Path([Pose((0, 2, 0))]), {"path": Path(WAY)}),
    (TourAction, "route", True, {"path": Path(WAY)}),
    (TourAction, "skip_missed", True, {"path": Path([Pose((1e9, 0, 0)), *WAY])}),
    (TourAction, "keep_height", True, {"path": Path([Pose((1, 1, 1))])}),
    # There is no map: the first pose is missed, and the last is reached if it is driven to straight.
    (TourAction, "straight_last", True, {"path": Path(WAY), "route": True, "skip_missed": True}),
    (TourAction, "timeout", 0.2, {"path": Path(WAY)}),
    (DriveByAction, "target", (0.5, 0.0, 0.0), {"target": (1.0, 0.0, 0.0), "speed": 0.5}),
    (DriveByAction, "speed", 0.2, {"target": (1.0, 0.0, 0.0), "speed": 0.5}),
    (DriveByAction, "timeout", 0.2, {"target": (1.0, 0.0, 0.0), "speed": 0.5}),
    (TurnAction, "angle", 2.0, {"angle": 1.0}),
    (TurnAction, "speed", 0.3, {"angle": 1.0}),
    (TurnAction, "timeout", 0.2, {"angle": 1.0}),
    (Wait, "duration", 20.0, {"duration": 1.0}),
    (Wait, "action_type", "charging", {"duration": 1.0}),
    (Wait, "timeout", 0.2, {"duration": 1.0}),
    (Pick, "target_object_id", "far", PICK),
    (Pick, "target_position", [2.0, 1.0, 0.0], PICK),
    (Pick, "search_radius", 0.1, PICK),
    (Pick, "use_2d_search", False, {"search_radius": 2.01}),
    (Pick, "pick_offset", 0.4, PICK),
    (Pick, "attach_relative_pose", Pose((0, 0, 1)), PICK),
    (Pick, "keep_world_pose", True, PICK),
    (Pick, "use_approach", False, PICK),
    (Pick, "reach", 1.5, {**PICK, "use_approach": False}),
    (Pick, "approach_pose", Pose((1, 1, 0)), PICK),
    (Pick, "approach_offset", 0.5, PICK),
    (Pick, "move_skip_threshold", 1.5, PICK),
    (Pick, "timeout", 0.2, PICK),
    (Pick, "blocked_timeout", 0.5, {**PICK, "approach_pose": Pose((2, 0, 0))}),
    (Drop, "drop_pose", Pose((3, 1, 0)), DROP),
    (Drop, "drop_offset", 0.4, DROP),
    (Drop, "place_gently", False, DROP),
    (Drop, "drop_height", 0.5, {**DROP, "place_gently": False}),
    (Drop, "target_object_id", "far", DROP),
    (Drop, "drop_relative_pose", Pose((0, 0, 1)), DROP),
    (Drop, "use_approach", False, DROP),
    (Drop, "approach_pose", Pose((1, 1, 0)), DROP),
    (Drop, "approach_offset", 0.5, DROP),
    (Drop, "move_skip_threshold", 2.5, DROP),
    (Drop, "timeout", 0.2, DROP),
    (Drop, "blocked_timeout", 0.5, DROP),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "name", "value", "others"), ACTIONS, ids=lambda part: getattr(part, "__name__", None))
def test_a_parameter_of_an_action_counts(cls: Any, name: str, value: Any, others: dict[str, Any]) -> None:
    walled = name == "blocked_timeout"
    changed = carried_out(cls, {**others, name: value}, walled=walled)
    assert changed != carried_out(cls, others, walled=walled)
    assert changed == carried_out(cls, others, walled=walled, **{name: value})


def test_a_parameter_is_checked_when_it_is_set_and_stays_once_a_robot_has_the_action() -> None:
    sim = build({})
    robot = sim.spawn(AgentSpawnParams(BOX, BOX))
    action = MoveTo(Pose((1, 0, 0)))
    for name, value, error in (("tolerance", -1.0, ValueError), ("direction", "up", ValueError)):
        with pytest.raises(error, match=name):
            setattr(action, name, value)
    assert action.tolerance == 0.0
    robot.execute_action(action)
    for _ in range(2):
        with pytest.raises(AttributeError, match=r"MoveTo\.target_pose counts until a robot has the action"):
            action.target_pose = Pose((2, 0, 0))
        sim.step_once()
    action.cancel()
    action.reset()
    action.target_pose = Pose((0, 1, 0))
    robot.execute_action(action)
    for _ in range(160):
        sim.step_once()
    assert robot.get_pose().position[:2] == pytest.approx((0, 1), abs=1e-6)


ARM_PARAMETERS = (
    "joint_targets joint_tolerance joint_max_force ee_target_position ee_target_orientation ee_end_effector_link "
    "ee_tolerance continue_on_ik_failure use_arm attach_link"
)
"""Those that need an arm: actions/test_arm_pick.py."""


@pytest.mark.parametrize("cls", [MoveTo, MoveAction, Wait, Pick, Drop, TourAction, DriveByAction, TurnAction])
def test_every_parameter_of_an_action_is_looked_at(cls: Any) -> None:
    swept = {name for swept, name, _, _ in ACTIONS if swept is cls}
    # Anything but true is refused.
    refused = {"auto_approach"}
    assert {field.name for field in fields(cls) if field.init} <= swept | refused | set(ARM_PARAMETERS.split())


# ---- What actions take is declared once: their constructors, files and messages read the same settings ---------------


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
        (lambda: MoveTo(Pose((0, 0, 0)), tolerance=-1.0), "tolerance: must be a number at least 0"),
        (lambda: MoveTo(Pose((0, 0, 0)), direction="sideways"), "direction"),
        (lambda: Drop([0, 0, 0], drop_height=-1.0), "drop_height: must be a number at least 0"),
        (lambda: Pick(True), "target_object_id: must be a SimObject, a name, or a whole number"),
        (lambda: Pick("box", use_arm=True, ee_target_orientation=(0.0, 0.0, 0.0, 0.0)), "ee_target_orientation"),
        (lambda: Drop((0, 0, 0), drop_relative_pose=(1, 2, 3)), "drop_relative_pose: must be Pose or null"),
        (lambda: PoseAction(None), "target_position"),
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


# ---- Actions by name, from JSON --------------------------------------------------------------------------------------


def test_actions_from_json() -> None:
    move = parse_action_goal("move", json.dumps({"path": [[0, 0, 0], [1, 1, 0, 1.57], [1, 1, 0, 0, 0, 0, 1]]}))
    assert isinstance(move, MoveAction)
    assert len(move.path) == 3
    for name in ("move", "move_to"):
        goal = parse_action_goal(name, {"target_pose": {"position": [1, 2, 0], "yaw": 0.5}, "direction": "backward"})
        assert isinstance(goal, MoveAction)
        assert goal.path[0] == Pose.from_yaw(1, 2, 0, 0.5)
    pick = parse_action_goal("pick", {"target_object_id": 4, "attach_relative_pose": [0, 0, 1]})
    assert isinstance(pick, Pick)
    assert (pick.target_object_id, pick.attach_relative_pose) == (4, Pose((0, 0, 1)))
    drop = parse_action_goal("drop", {"drop_pose": [1, 2, 3], "place_gently": False})
    assert isinstance(drop, Drop)
    assert drop.drop_pose == Pose((1, 2, 3))
    wait = parse_action_goal("wait", '{"duration": 2}')
    assert isinstance(wait, Wait)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("mov", "{}", "Did you mean 'move'"),
        ("wait", "{", "not valid JSON"),
        ("wait", "[1]", "object of parameters"),
        ("wait", 5, "parameters by name"),
        ("wait", "{}", "'duration' is missing"),
        ("wait", {"durations": 1}, "Did you mean 'duration'"),
        ("wait", {"duration": "1"}, "duration: must be a number"),
        ("wait", {"duration": 1, "timeout": -1}, "timeout"),
        ("move", {"path": 5}, "list of poses"),
        ("move", {"path": [[0, 0]]}, "path"),
        ("move_to", {"target_pose": [0, 0, 0, 0, 0, 0, 0]}, "zero"),
        ("move_to", {"target_pose": [0, 0, math.nan]}, "finite"),
        ("move_to", {"target_pose": [0, 0, 0], "direction": "up"}, "forward"),
        ("pick", {"use_approach": "no"}, "true or false"),
        ("drop", {"drop_pose": "here"}, "drop_pose"),
    ],
)
def test_bad_json_is_one_clear_error(name: str, params: object, message: str) -> None:
    with pytest.raises(FleetSimError, match=message):
        parse_action_goal(name, params)  # type: ignore[arg-type]


def test_actions_of_ones_own_get_a_name() -> None:
    class Beep(Action):
        pass

    register_action("beep_of_the_tests", Beep)
    assert isinstance(parse_action_goal("beep_of_the_tests", "{}"), Beep)
    with pytest.raises(FleetSimError, match="exists already"):
        register_action("beep_of_the_tests", Beep)
    with pytest.raises(FleetSimError, match="derived from Action"):
        register_action("other", int)  # type: ignore[arg-type]


# ---- Parameters of actions come in messages, too: they are bounded, and so is what is answered -----------------------


@pytest.mark.parametrize("text", ["[" * 90_000, "x" * 200_000, '{"a": 1}' + " " * 100_000, "nonsense"])
def test_parameters_from_messages_are_bounded(text: str) -> None:
    with pytest.raises(fs.InvalidValueError) as caught:
        parse_action_goal("wait", text)
    assert len(str(caught.value)) < 1000
