"""Mimic joints: joints that follow another joint of their robot, their leader, at a fixed ratio.

A follower's position is `multiplier` times the leader's plus `offset`. It is commanded through its leader; its limits
do not count, as it has no motion of its own.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.joints import AT_FORCE
from fleet_sim.core.robot_model import Mimic, RobotModel
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError

AGREEMENT = 1e-6
"""How far, in rad or m, a number for a follower may be from what its leader gives."""


def places_of(model: RobotModel, mimic: Mimic) -> tuple[int, int]:
    """Return the indices of follower and leader among the joints that move."""
    return int(model.slots[mimic.follower]), int(model.slots[mimic.leader])


def led_positions(model: RobotModel, positions: Floats) -> Floats:
    """Return `positions` (M,) of the joints that move with followers where their leaders bring them."""
    led = positions.copy()
    for mimic in model.mimics:
        follower, leader = places_of(model, mimic)
        # Leaders follow nobody: chains of followers were resolved when the model was read.
        led[follower] = mimic.multiplier * led[leader] + mimic.offset
    return led


def without_followers(
    model: RobotModel, places: Ints, values: Floats, *, what: str = "position"
) -> tuple[Ints, Floats]:
    """Return the `places` (K,) and `values` (..., K) of a command without those of followers.

    Raises InvalidValueError where a follower is commanded to anything but what its leader, commanded too, gives.
    `what` is "position", "velocity" or "force"; of forces a follower has none.
    """
    if not model.mimics:
        return places, values
    keep_mask = np.ones(len(places), np.bool_)
    for mimic in model.mimics:
        follower, leader = (np.flatnonzero(places == place) for place in places_of(model, mimic))
        if not len(follower):
            continue
        keep_mask[follower] = False
        ratio = 0.0 if what == "force" else mimic.multiplier
        expected = ratio * values[..., leader] + (mimic.offset if what == "position" else 0.0)
        if not len(leader) or bool((np.abs(values[..., follower] - expected) > AGREEMENT).any()):
            raise InvalidValueError(_refusal(model, mimic, what))
    return places[keep_mask], values[..., keep_mask]


def _refusal(model: RobotModel, mimic: Mimic, what: str) -> str:
    name, leader = model.joint_names[mimic.follower], model.joint_names[mimic.leader]
    law = f"{mimic.multiplier:g} * {leader}" + (f" + {mimic.offset:g}" if mimic.offset else "")
    return (
        f"joint {name!r} of {model.name!r} mimics {leader!r} ({name} = {law}) and takes no {what} of its own; "
        f"command {leader!r}, or spawn the robot with mimic_joints: false"
    )


def link(world: World, slots: Ints, model: RobotModel) -> None:
    """Let the followers among the joints in `slots` (N, M) of robots of `model` follow from now on."""
    joints = world.joints
    for mimic in model.mimics:
        follower, leader = places_of(model, mimic)
        own, led_by = slots[:, follower], slots[:, leader]
        joints.leader[own], joints.multiplier[own], joints.offset[own] = led_by, mimic.multiplier, mimic.offset
        joints.max_velocity[own] = abs(mimic.multiplier) * joints.max_velocity[led_by]
        # The leader's limits bound the follower too; limits of its own could tear the two apart.
        joints.lower[own], joints.upper[own] = -np.inf, np.inf
    joints.find_followers()


def follow(world: World, *, of: Ints | None = None) -> None:
    """Bring the followers of kinematic robots to where their leaders are; with `of` those of these slots, of any robot.

    With motors the engine holds them together.
    """
    joints = world.joints
    followers = joints.followers
    if not len(followers):
        return
    if of is None:
        followers = followers[~world.robots.motors[joints.robot[followers]]]
    else:
        followers = followers[np.isin(joints.leader[followers], of)]
    leaders, multiplier = joints.leader[followers], joints.multiplier[followers]
    joints.position[followers] = multiplier * joints.position[leaders] + joints.offset[followers]
    joints.velocity[followers] = multiplier * joints.velocity[leaders]


def pass_on(world: World, slots: Ints) -> None:
    """Give the followers of the joints in `slots` the targets that follow from those of their leaders.

    Followers that are among `slots` themselves were commanded to the same, so nothing is lost.
    """
    joints = world.joints
    followers = joints.followers
    if not len(followers):
        return
    followers = followers[np.isin(joints.leader[followers], slots)]
    leaders, multiplier = joints.leader[followers], joints.multiplier[followers]
    joints.control[followers] = joints.control[leaders]
    joints.target[followers] = multiplier * joints.target[leaders] + joints.offset[followers]
    # The leader's motor brings up the force for both.
    forced_mask = joints.control[leaders] == AT_FORCE
    joints.command[followers] = np.where(forced_mask, 0.0, multiplier * joints.command[leaders])
    joints.moving[followers] = joints.motor_behind[followers] = False
