"""Frames of links: one tree per robot, whatever its description calls the base."""

from __future__ import annotations

import pytest

from fleet_sim.models import load_robot_model, resolve_urdf

pytest.importorskip("rclpy")

from fleet_sim.models.kinematics.tree import base_frame
from fleet_sim.ros.tf import fixed_transforms, moving_transforms
from fleet_sim.world.names import Frames


@pytest.mark.parametrize(
    ("name", "base"),
    [("mobile_manipulator", "bot/base_link"), ("panda", "bot/base_link"), ("husky", "bot/base_footprint")],
)
def test_every_link_has_one_way_to_the_base(name: str, base: str) -> None:
    model, frames = load_robot_model(resolve_urdf(name)), Frames("map")
    assert base_frame(frames, "bot", model) == base
    made = [*moving_transforms(frames, "bot", model), *fixed_transforms(frames, "bot", model)]
    parents = {transform.child_frame_id: transform.header.frame_id for transform in made}
    assert len(parents) == len(made), "two parents"
    assert base not in parents
    for link in (*model.link_names, model.base_name):
        frame = f"bot/{link}"
        while frame != base:
            frame = parents[frame]


def test_the_bases_own_name_is_a_frame_too() -> None:
    model, frames = load_robot_model(resolve_urdf("panda")), Frames("map", "/left")
    (alias,) = [
        made for made in fixed_transforms(frames, "bot", model) if made.child_frame_id == "left/bot/panda_link0"
    ]
    assert alias.header.frame_id == "left/bot/base_link"
    assert alias.transform.rotation.w == 1.0
