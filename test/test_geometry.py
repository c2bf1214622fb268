"""Poses and paths as values."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import (
    Path,
    Pose,
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

number = st.floats(-100.0, 100.0)
poses = st.builds(Pose.from_euler, number, number, number, *[st.floats(-1.5, 1.5)] * 3)


def close(a: Pose, b: Pose) -> bool:
    same = abs(sum(p * q for p, q in zip(a.orientation, b.orientation, strict=True)))
    return a.distance_to(b) < 1e-9 and same == pytest.approx(1.0)


def test_parts() -> None:
    pose = Pose.from_euler(1, 2, 3, roll=0.1, pitch=0.2, yaw=0.3)
    assert (pose.x, pose.y, pose.z) == (1.0, 2.0, 3.0)
    assert (pose.roll, pose.pitch, pose.yaw) == pytest.approx((0.1, 0.2, 0.3))
    assert pose.as_euler() == (pose.roll, pose.pitch, pose.yaw)
    assert pose.as_position() == [1.0, 2.0, 3.0]
    assert pose.as_position_orientation() == (pose.as_position(), pose.as_orientation())
    assert pose.as_tuple() == (pose.position, pose.orientation)
    assert Pose.from_pybullet(*pose.as_tuple()) == pose
    assert Pose.from_xyz(1, 2, 3) == Pose([1, 2, 3])
    assert Pose.from_yaw(0, 0, 0, 0.5).yaw == pytest.approx(0.5)


@pytest.mark.parametrize("angle", [45, 90.0, -180, 270, 360])
def test_angles_that_look_like_degrees_are_told_to_who_wrote_them(angle: float) -> None:
    said = f"an angle of {angle:g} is taken as radians; {angle:g} degrees are {math.radians(angle):.4f}"
    with pytest.warns(UserWarning, match=said) as told:
        Pose.from_yaw(0, 0, 0, angle)
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=said) as told:
        Pose.from_euler(0, 0, 0, pitch=angle)
    assert told[0].filename == __file__


@pytest.mark.parametrize("angle", [0.0, -math.pi, 6.0, 7.0, 12.5, 44.999, 100.0 * math.pi])
def test_other_angles_are_radians_without_a_word(angle: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pose.from_yaw(0, 0, 0, angle)


def test_a_pose_never_changes() -> None:
    position = np.array([1.0, 2.0, 3.0])
    pose = Pose(position)
    position[0] = 9.0
    pose.as_position()[0] = 9.0
    assert pose.x == 1.0
    for name in ("x", "position", "_position", "other"):
        with pytest.raises(AttributeError):
            setattr(pose, name, 0.0)
    assert {pose: "here"}[Pose([1, 2, 3])] == "here"
    assert pickle.loads(pickle.dumps(pose)) == copy.deepcopy(pose) == pose
    assert eval(repr(pose)) == pose
    assert pose != (1.0, 2.0, 3.0)


def test_quaternions_are_normalised_and_units_keep_their_bits() -> None:
    assert Pose([0, 0, 0], [0, 0, 2, 0]).orientation == (0.0, 0.0, 1.0, 0.0)
    unit = (0.0, 0.0, math.sin(0.3), math.cos(0.3))
    assert Pose([0, 0, 0], unit).orientation == unit


@pytest.mark.parametrize(
    ("position", "orientation", "message"),
    [
        ([1, 2], [0, 0, 0, 1], "expected 3 numbers"),
        ([1, 2, math.nan], [0, 0, 0, 1], "finite"),
        ([1, 2, math.inf], [0, 0, 0, 1], "finite"),
        ([1, 2, 3], [0, 0, 0], "expected 4 numbers"),
        ([1, 2, 3], [0, 0, 0, 0], "must not be zero"),
        ([1, 2, 3], [0, 0, 0, math.nan], "finite"),
        ("abc", [0, 0, 0, 1], "expected 3 numbers"),
        (None, [0, 0, 0, 1], "expected 3 numbers"),
        (np.zeros((3, 1)), [0, 0, 0, 1], "expected 3 numbers"),
        ([np.zeros(1), 0.0, 0.0], [0, 0, 0, 1], "expected 3 numbers"),
    ],
)
def test_bad_input(position: object, orientation: object, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        Pose(position, orientation)  # type: ignore[arg-type]


@given(poses, poses)
def test_composition(a: Pose, b: Pose) -> None:
    assert close(a * a.inverse(), Pose.from_xyz(0, 0, 0))
    assert close(a.compose(b) * b.inverse(), a)
    assert close(a * b.relative_to(a), b)
    assert a.distance_to(b) == pytest.approx(math.dist(a.position, b.position))
    assert a.distance_to(b.position) == a.distance_to(b)


def test_figures() -> None:
    square = Path.create_square([1, 1, 0], 2.0)
    assert [pose.as_position()[:2] for pose in square] == [[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]
    assert square.get_total_distance() == 8.0
    assert Path.create_rectangle([0, 0, 0], 3.0, 1.0).get_total_distance() == 8.0
    circle = Path.create_circle([1, 0, 2], 2.0, num_points=200)
    assert len(circle) == 201 and circle[0] == circle[-1]
    assert circle.get_total_distance() == pytest.approx(4.0 * math.pi, rel=1e-3)
    arc = Path.create_ellipse([0, 0, 0], 2.0, 1.0, num_points=4, end_angle=math.pi / 2)
    assert arc[-1].as_position() == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    upright = Path.create_square([0, 0, 0], 2.0, rpy=[math.pi / 2, 0, 0])
    assert {round(pose.z, 9) for pose in upright} == {-1.0, 1.0}
    assert upright[0].roll == pytest.approx(math.pi / 2)


def test_a_path_is_a_sequence() -> None:
    path = Path.from_positions([[0, 0, 0], [1, 0, 0]], orientation=[0, 0, 1, 0])
    other = Path([Pose.from_xyz(2, 0, 0)])
    assert path.append(other) is path
    assert len(path) == 3 and path[-1] == other[0] and list(path) == path.waypoints
    assert path[1:] == Path(path.waypoints[1:])
    assert Path.from_paths([path, other]) == path + other
    assert path[0].orientation == (0.0, 0.0, 1.0, 0.0)
    path.append(path)
    assert len(path) == 6
    with pytest.raises(InvalidValueError, match="expected a Path, got 3"):
        Path.from_paths([path, 3])  # type: ignore[list-item]
    with pytest.raises(InvalidValueError, match="expected a Path, got"):
        path.append(path.waypoints)  # type: ignore[arg-type]
    assert Path([]).get_total_distance() == 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Path([(0, 0, 0)]),  # type: ignore[list-item]
        lambda: Path([]).append([Pose.from_xyz(0, 0, 0)]),  # type: ignore[arg-type]
        lambda: Path.create_square([0, 0, 0], -1.0),
        lambda: Path.create_circle([0, 0, 0], 1.0, num_points=0),
        lambda: Path.create_circle([0, 0], 1.0),
        lambda: Path.create_square([0, 0, 0], 1.0, rpy=[0, 0]),
        lambda: Path.create_square([0, 0, 0], 1.0).visualize(),
    ],
)
def test_bad_paths(make: object) -> None:
    with pytest.raises(InvalidValueError):
        make()  # type: ignore[operator]


class Pen:
    """Collects lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []

    def addUserDebugLine(self, *line: object, lineWidth: float, lifeTime: float) -> int:
        self.lines.append((*line, lineWidth, lifeTime))
        return len(self.lines) - 1


def test_drawing() -> None:
    pen, path = Pen(), Path.create_square([0, 0, 0], 1.0)
    assert path.visualize(sim=pen) == [0, 1, 2, 3]
    assert pen.lines[0][:2] == ([-0.5, -0.5, 0.0], [0.5, -0.5, 0.0])
    assert len(path.visualize_waypoints(sim=pen)) == 5 * 6
    path.visualize(line_color=(1, 0, 0), line_width=5.0, lifetime=2.0, sim=pen)
    assert pen.lines[-1][2:] == ([1, 0, 0], 5.0, 2.0)
    assert len(path.visualize(show_axes=True, axis_length=0.7, sim=pen)) == 4 + 5 * 3
    assert pen.lines[-1][1] == pytest.approx([-0.5, -0.5, 0.7])
    assert len(path.visualize(show_points=True, point_size=0.4, show_lines=False, sim=pen)) == 5 * 3
    assert len(path.visualize(show_waypoints=True, show_lines=False, sim=pen)) == 5 * 6


# ---- Small helpers ---------------------------------------------------------------------------------------------------


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
