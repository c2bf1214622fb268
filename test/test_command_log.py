"""Logs of commands: a run that is recorded and replayed comes to the same state, bit by bit."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arms import PANDA

import fleet_sim as fs

MakeSim = Callable[..., fs.MultiRobotSimulationCore]
BOX = {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]}
SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "timestep": 0.1, "seed": 3},
    "robots": [
        {"name": "r", "shape": BOX, "motion_mode": "omnidirectional", "grid": {"count": 6, "spacing": [2.0, 2.0, 0.0]}},
        {"name": "d", "shape": BOX, "pose": [0.0, 9.0, 0.0], "controller": "random_walk"},
        {"name": "arm", "urdf_path": PANDA, "pose": [0.0, -5.0, 0.0], "use_fixed_base": True},
    ],
    "objects": [{"name": "crate", "shape": BOX, "pose": [0.4, 0.0, 0.3], "pickable": True}],
}
NAMES = (*(f"r_{index}" for index in range(6)), "d", "arm", "crate", "nobody", "new_0")


def scenario() -> fs.MultiRobotSimulationCore:
    """A simulation of the scenario, whose state is hashed with all that matters."""
    return fs.MultiRobotSimulationCore.from_dict(SCENARIO)


class Commander:
    """Draws commands of every kind, wrong ones among them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self._made = 0
        self.kinds = [getattr(self, name) for name in dir(type(self)) if name.startswith("make_")]

    def command(self) -> fs.Command:
        self._made += 1
        command: fs.Command = self.draw.choice(self.kinds)()
        return command

    def names(self) -> tuple[str, ...]:
        return tuple(self.draw.choices(NAMES, k=self.draw.randint(1, 4)))

    def numbers(self, rows: int, columns: int) -> np.ndarray:
        values = np.array([[self.draw.uniform(-4.0, 4.0) for _ in range(columns)] for _ in range(rows)])
        if self.draw.random() < 0.1:
            values[0, 0] = np.nan
        return values

    def make_navigate(self) -> fs.Command:
        names = self.names()
        return fs.Navigate(names=names, positions=self.numbers(len(names), 3), orientations=self.numbers(len(names), 4))

    def make_path(self) -> fs.Command:
        turns = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
        return fs.FollowPath(name=self.names()[0], positions=self.numbers(3, 3), orientations=turns)

    def make_velocity(self) -> fs.Command:
        names = self.names()
        timeout = self.draw.choice([None, 0.0, 0.35])
        count = len(names)
        return fs.SetVelocity(
            names=names, linear=self.numbers(count, 3), angular=self.numbers(count, 3), timeout=timeout
        )

    def make_joints(self) -> fs.Command:
        return fs.SetJoints(names=("arm", "r_0"), joint_names=("panda_joint1",), positions=self.numbers(2, 1) / 4.0)

    def make_joint_velocities(self) -> fs.Command:
        return fs.SetJoints(names=("arm",), joint_names=("panda_joint2",), velocities=self.numbers(1, 1) / 9.0)

    def make_stop(self) -> fs.Command:
        return fs.Stop(names=self.draw.choice([(), self.names()]))

    def make_poses(self) -> fs.Command:
        names = self.names()
        points, turns = self.numbers(len(names), 3), self.numbers(len(names), 4)
        return fs.SetPoses(
            names=names, positions=points, orientations=turns, preserve_velocity=self.draw.random() < 0.5
        )

    def make_action(self) -> fs.Command:
        goal = fs.Pose.from_yaw(*np.nan_to_num(self.numbers(1, 4)[0]).tolist())
        actions: list[Any] = [fs.Wait(0.3), {"type": "move_to", "target_pose": [1.0, 2.0, 0.0]}, {"type": "nonsense"}]
        actions += [fs.MoveTo(goal, tolerance=0.1, direction="backward"), fs.MoveAction([goal, fs.Pose((0, 0, 0))])]
        actions += [fs.Pick("crate", use_approach=False, timeout=3.0), fs.Drop(goal, use_approach=False)]
        actions.append(fs.JointAction({"panda_joint4": -1.0}))
        actions.append(fs.JointTrajectoryAction(["panda_joint6"], [0.2, 0.5], [[1.0], [1.5]], goal_tolerance=0.1))
        actions.append(fs.PoseAction([0.4, -4.9, 0.6]))
        name = self.draw.choice(NAMES)
        return fs.ExecuteAction(
            names=(name,),
            actions=(self.draw.choice(actions),),
            replace=self.draw.random() < 0.5,
            command_id=str(self._made),
        )

    def make_cancel(self) -> fs.Command:
        return fs.CancelActions(names=self.names(), goal=self.draw.choice(["", str(self._made - 3)]))

    def make_attach(self) -> fs.Command:
        attach = self.draw.random() < 0.7
        return fs.Attach(name=self.names()[0], attach=attach, search_radius=5.0)

    def make_spawn(self) -> fs.Command:
        pose = self.numbers(1, 3)[0].tolist()
        actions = [{"type": "wait", "duration": 0.2}, {"type": "move_to", "target_pose": [0.0, 0.0, 0.0]}]
        return fs.Spawn(robots=({"name": "new_0", "shape": BOX, "pose": pose, "actions": actions},), rename=True)

    def make_remove(self) -> fs.Command:
        return fs.Remove(names=self.names()[:1])

    def make_reset(self) -> fs.Command:
        return self.draw.choice([fs.Reset(), fs.Stop()])

    def make_clear(self) -> fs.Command:
        return fs.Clear() if self.draw.random() < 0.1 else fs.Stop()

    def make_save(self) -> fs.Command:
        return fs.SaveState(name=self.draw.choice("ab"))

    def make_restore(self) -> fs.Command:
        return fs.RestoreState(name=self.draw.choice("abc"))


@pytest.mark.parametrize("seed", range(3))
def test_a_replayed_log_makes_the_same_run(seed: int) -> None:
    commander = Commander(seed)
    with scenario() as sim:
        log = fs.record_commands(sim)
        for _ in range(60):
            for _ in range(commander.draw.randint(0, 3)):
                sim.inbox.put(commander.command())
            if commander.draw.random() < 0.1:
                # As while paused: applied outside a step.
                sim.inbox.drain(sim.dispatcher)
            sim.step_once()
        wanted = sim.step_count, sim.state_hash()
    # As plain data and back, as it may have been sent elsewhere.
    plain = [(entry.tick, entry.in_step, json.loads(json.dumps(entry.command.to_dict()))) for entry in log.entries]
    entries = [fs.LoggedCommand(tick, in_step, fs.Command.from_dict(given)) for tick, in_step, given in plain]
    read = fs.CommandLog(log.timestep, entries)
    with scenario() as sim:
        answers = fs.replay_commands(sim, read)
        assert all(answer.done() for answer in answers)
        # What came after the last command is in no log.
        while sim.step_count < wanted[0]:
            sim.step_once()
        assert (sim.step_count, sim.state_hash()) == wanted


def test_the_log_has_commands_that_were_rejected_and_those_of_a_paused_run(sim: fs.MultiRobotSimulationCore) -> None:
    log = fs.record_commands(sim)
    sim.inbox.put(fs.Remove(names=("nobody",)))
    sim.inbox.put(fs.FollowPath(name="nobody", positions="here", orientations="there"))  # type: ignore[arg-type]
    cancelled = sim.inbox.put(fs.Stop())
    cancelled.cancel()
    sim.step_once()
    sim.dispatcher.dispatch(fs.Stop(command_id="not by the inbox"))
    sim.inbox.put(fs.Stop())
    sim.inbox.drain(sim.dispatcher)
    kinds = [(type(entry.command), entry.tick, entry.in_step) for entry in log.entries]
    assert kinds == [(fs.Remove, 0, True), (fs.FollowPath, 0, True), (fs.Stop, 1, False)]


def test_a_command_that_cannot_be_written_says_why(sim: fs.MultiRobotSimulationCore, robot: fs.Agent) -> None:
    class Dance(fs.Action):
        """No one else can make it."""

    for command, message in (
        (fs.Call(function=print), "Call is no command that can be written"),
        (fs.ExecuteAction(names=("robot",), actions=(Dance(),)), "<Dance in_progress> cannot be written"),
    ):
        log = fs.record_commands(sim)
        sim.inbox.put(command)
        sim.step_once()
        with pytest.raises(fs.InvalidValueError, match=message):
            log.entries[0].command.to_dict()
        log.stop()


def test_a_log_is_not_replayed_where_it_cannot_be(make_sim: MakeSim) -> None:
    sim = make_sim()
    sim.step_once()
    log = fs.record_commands(sim)
    sim.inbox.put(fs.Stop())
    sim.step_once()
    with pytest.raises(fs.InvalidValueError, match=r"steps of 0\.1 s, this simulation of 0\.2 s"):
        fs.replay_commands(make_sim(timestep=0.2), log)
    with pytest.raises(fs.InvalidValueError, match="applied at tick 1, but this simulation is at 2"):
        fs.replay_commands(sim, log)
    later = make_sim()
    later.pause()
    with pytest.raises(fs.StateError, match="paused"):
        fs.replay_commands(later, log)
    later.resume()
    assert fs.replay_commands(later, log)[0].done()
    assert later.step_count == 2


@pytest.mark.parametrize(
    "action",
    [
        fs.Wait(0.5),
        fs.MoveTo(fs.Pose.from_yaw(1, 2, 3, 0.4), tolerance=0.1, direction="forward", timeout=5.0),
        fs.MoveAction(fs.Path([fs.Pose((1, 0, 0)), fs.Pose((1, 1, 0))]), final_orientation_align=False),
        fs.Pick("crate", pick_offset=0.1, joint_targets={"j": 1.0}, attach_relative_pose=fs.Pose((0, 0, 1))),
        fs.Drop(fs.Pose((1, 2, 3)), place_gently=False, ee_target_position=np.array([1.0, 2.0, 3.0])),
        fs.JointAction([0.1, 0.2], tolerance={"j": 0.1}),
        fs.PoseAction([0.4, 0.0, 0.5], [0, 0, 0, 1]),
        fs.JointTrajectoryAction(["j"], [0.5, 1.0], [[1.0], [2.0]], [[0.0], [0.0]], path_tolerance={"j": np.inf}),
    ],
    ids=lambda action: type(action).__name__,
)
def test_actions_are_told_as_what_makes_them_again(action: fs.Action) -> None:
    told = fs.describe_action(action)
    again = fs.parse_action_goal(told.pop("type"), told)
    assert type(again) is type(action)
    assert fs.describe_action(again) == fs.describe_action(action)
