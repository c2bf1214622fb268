"""Tasks for idle robots during verification: a run in which nothing moves proves little."""

from __future__ import annotations

from fleet_sim.config.modes import ControllerMode
from fleet_sim.entities.agent import Agent
from fleet_sim.geometry import Pose
from fleet_sim.simulation import MultiRobotSimulationCore

PERIOD = 40
"""Steps between two errands."""


def send_idle_robots(sim: MultiRobotSimulationCore, step: int) -> None:
    """Give a goal to every robot that could drive and does not, and targets to the joints of every robot.

    The goals depend on `step` and on the robot's place in the fleet, and are made without rounding.
    """
    if step % PERIOD != 0:
        return
    for number, agent in enumerate(sim.agents):
        if agent.can_move and _is_idle(agent):
            across, along, turn = ((number * prime + step) % 9 - 4 for prime in (7, 5, 2))
            here = agent.get_pose()
            agent.set_goal(Pose.from_yaw(here.x + 0.25 * along, here.y + 0.125 * across, here.z, 0.5 * turn))
        if agent.movable_joint_names:
            agent.set_joints_targets_by_name(_targets(agent, number + step))


def _is_idle(agent: Agent) -> bool:
    return agent.controller_mode is ControllerMode.IDLE and agent.is_action_queue_empty()


def _targets(agent: Agent, number: int) -> dict[str, float]:
    """Return a target for each joint, within its limits, and within half a turn or metre from zero."""
    model, targets = agent.robot_model, {}
    followers = {model.joint_names[mimic.follower] for mimic in model.mimics} if model is not None else set()
    for place, name in enumerate(agent.movable_joint_names):
        # It goes where its leader does.
        if name in followers:
            continue
        low, high = (min(max(limit, -0.5), 0.5) for limit in agent.get_joint_limits(name))
        share = ((number + 3 * place) % 8) * 0.125
        targets[name] = low + share * (high - low)
    return targets
