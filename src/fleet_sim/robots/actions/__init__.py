"""Actions of agents, and their scheduler, which wakes them by events.

`action.py` says what an action is, and `scheduler.py` how queues are run: nothing polls, an action waits for an event
or for a time. A new kind derives from `Action`, or from `DeclaredAction` where its parameters are settings, and gets
its name in `registry.py`.
"""

from fleet_sim.robots.actions.action import Action, Until
from fleet_sim.robots.actions.drive import MoveAction, MoveTo, TourAction
from fleet_sim.robots.actions.follow import DriveByAction, FollowAction, TeleopAction, TurnAction, Wait, WaitAction
from fleet_sim.robots.actions.joints import JointAction, JointTrajectoryAction, PoseAction, TrajectoryCause
from fleet_sim.robots.actions.pick_and_drop import Drop, DropAction, DropPhase, Pick, PickAction, PickPhase
from fleet_sim.robots.actions.registry import ACTIONS, describe_action, parse_action_goal, register_action

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
