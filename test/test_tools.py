"""Small helpers."""

from __future__ import annotations

import math

import pytest

from fleet_sim import InvalidValueError, Pose
from fleet_sim.base.tools import (
    body_to_world_velocity_2d,
    body_to_world_velocity_3d,
    calculate_offset_pose,
    find_nearest,
    grid_to_world,
    grid_to_world_2d,
    normalize_vector_param,
    world_to_grid,
    world_to_grid_2d,
)

SPACING, OFFSET = [1.0, 2.0, 0.0], [0.5, 0.0, 3.0]


def test_an_offset_pose_faces_its_target() -> None:
    target, current = Pose((4, 3, 2)), Pose((0, 3, 1))
    pose = calculate_offset_pose(target, current, 1.0)
    assert pose.as_position() == pytest.approx([3, 3, 1])
    assert pose.yaw == pytest.approx(0.0)
    assert calculate_offset_pose(target, current, 1.0, keep_height=False).z == pytest.approx(2.0)


def test_right_above_the_target_the_own_heading_counts() -> None:
    pose = calculate_offset_pose(Pose((1, 1, 0)), Pose.from_yaw(1, 1, 0, math.pi / 2), 2.0)
    assert pose.as_position() == pytest.approx([1, -1, 0])


@pytest.mark.parametrize("cell", [(0, 0, 0), (3, -2, 0), (-5, 7, 0)])
def test_cells_and_positions_go_back_and_forth(cell: tuple[int, int, int]) -> None:
    place = grid_to_world(cell, SPACING, OFFSET)
    assert world_to_grid(place, SPACING, OFFSET) == cell
    assert world_to_grid_2d(place, SPACING, OFFSET) == cell[:2]
    assert grid_to_world_2d(cell, SPACING, OFFSET) == place[:2]


def test_the_first_of_the_nearest_is_found() -> None:
    poses = [Pose((3, 0, 0)), Pose((1, 0, 0)), Pose((-1, 0, 0))]
    assert find_nearest([0, 0, 0], poses) == 1
    assert find_nearest([0, 0, 0], []) is None


def test_one_number_becomes_three() -> None:
    assert normalize_vector_param(2).tolist() == [2.0] * 3
    assert normalize_vector_param([1, 2, 3]).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(InvalidValueError, match="limit"):
        normalize_vector_param([1, 2], "limit")


def test_body_velocities_turn_with_the_body() -> None:
    assert body_to_world_velocity_2d(1.0, 0.0, math.pi / 2) == pytest.approx((0.0, 1.0))
    turn = Pose.from_yaw(0, 0, 0, math.pi / 2).orientation
    assert body_to_world_velocity_3d([1, 0, 0.5], turn) == pytest.approx([0.0, 1.0, 0.5])
