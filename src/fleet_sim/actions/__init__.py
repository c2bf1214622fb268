"""Actions of agents, one per file, and their scheduler, which wakes them by events.

`base.py` says what an action is, and `scheduler.py` how queues are run: nothing polls, an action waits for an event or
for a time. `move_to.py`, `wait.py` and `pick.py` are good examples. A new kind derives from `Action`, or from
`DeclaredAction` where its parameters are settings, and gets its name in `registry.py`.
"""

from fleet_sim.actions.base import Action, Until
from fleet_sim.actions.drive_by import DriveByAction, TurnAction
from fleet_sim.actions.drop import Drop, DropAction, DropPhase
from fleet_sim.actions.follow import FollowAction
from fleet_sim.actions.joint import JointAction
from fleet_sim.actions.move_along import MoveAction
from fleet_sim.actions.move_to import MoveTo
from fleet_sim.actions.pick import Pick, PickAction, PickPhase
from fleet_sim.actions.pose import PoseAction
from fleet_sim.actions.registry import ACTIONS, describe_action, parse_action_goal, register_action
from fleet_sim.actions.teleop import TeleopAction
from fleet_sim.actions.tour import TourAction
from fleet_sim.actions.trajectory import JointTrajectoryAction, TrajectoryCause
from fleet_sim.actions.wait import Wait, WaitAction

__all__ = [
    "ACTIONS",
    "Action",
    "DriveByAction",
    "Drop",
    "DropAction",
    "DropPhase",
    "FollowAction",
    "JointAction",
    "JointTrajectoryAction",
    "MoveAction",
    "MoveTo",
    "Pick",
    "PickAction",
    "PickPhase",
    "PoseAction",
    "TeleopAction",
    "TourAction",
    "TrajectoryCause",
    "TurnAction",
    "Until",
    "Wait",
    "WaitAction",
    "describe_action",
    "parse_action_goal",
    "register_action",
]
