"""Wheels that roll with the way of their robot, without slipping, about axes that lean and are turned."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import rigid
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.models import load_robot_model
from fleet_sim.robots.template import find_wheels

STEERING = {
    # Joint: where it is, its axis, and its angle to the left when it is at 0.3.
    "fork": ((0.41, 0.05, 0.12), (0.0, 0.0, 1.0), 0.3),
    "upside_down": ((-0.43, 0.09, 0.12), (0.0, 0.0, -1.0), -0.3),
    "leaning": ((0.02, 0.61, 0.12), (0.0, 0.6, 0.8), None),
}


class Wheel(NamedTuple):
    """The joint of a wheel in its parent, and the shapes of its link; `radius` None: it does not roll."""

    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]
    axis: tuple[float, float, float]
    shape: str
    radius: float | None
    parent: str = "base"
    seen: bool = False


ROUND = '<origin rpy="1.5707963267948966 0 0"/><geometry><cylinder radius="0.11" length="0.05"/></geometry>'
BALL = '<geometry><sphere radius="0.07"/></geometry>'
MESH = '<origin rpy="0 0 0.05"/><geometry><mesh filename="{}.obj"/></geometry>'
ACROSS = '<origin rpy="0 0 1.5707963267948966"/><geometry><mesh filename="even.obj"/></geometry>'
BOX = '<geometry><box size="0.2 0.1 0.2"/></geometry>'
WHEELS = {
    "left_wheel": Wheel((0.21, 0.33, 0.11), (0.0, 0.0, 0.3), (0.0, 1.0, 0.0), ROUND, 0.11),
    "right_wheel": Wheel((-0.17, -0.29, 0.11), (0.0, 0.0, 0.0), (0.0, -1.0, 0.0), ROUND, 0.11),
    "ball_wheel": Wheel((0.05, -0.23, 0.07), (0.2, 0.1, -0.35), (0.0, 1.0, 0.0), BALL, 0.07),
    "seen_wheel": Wheel((0.31, -0.14, 0.11), (0.0, 0.0, 0.1), (0.0, 1.0, 0.0), ROUND, 0.11, seen=True),
    "mesh_wheel": Wheel((-0.12, 0.37, 0.11), (0.0, 0.0, 0.2), (0.0, 1.0, 0.0), MESH.format("even"), 0.09),
    "odd_wheel": Wheel((-0.12, 0.47, 0.11), (0.0, 0.0, 0.2), (0.0, 1.0, 0.0), MESH.format("odd"), None),
    "across_wheel": Wheel((-0.2, 0.47, 0.11), (0.0, 0.0, 0.2), (1.0, 0.0, 0.0), ACROSS, 0.09),
    "box_wheel": Wheel((-0.32, 0.37, 0.11), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), BOX, None),
    # The axis is level by 0.92, and by 0.88.
    "level_wheel": Wheel((0.1, 0.2, 0.11), (0.0, 0.0, 0.4), (0.0, 0.92, math.sqrt(1.0 - 0.92**2)), BALL, 0.07),
    "tilted_wheel": Wheel((0.1, 0.3, 0.11), (0.0, 0.0, 0.4), (0.0, 0.88, math.sqrt(1.0 - 0.88**2)), BALL, None),
    "fork_wheel": Wheel((0.03, 0.04, -0.01), (0.0, 0.0, 0.2), (0.0, 1.0, 0.0), ROUND, 0.11, "fork"),
    "second_fork_wheel": Wheel((0.03, -0.04, -0.01), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), BALL, 0.07, "fork"),
    "upside_wheel": Wheel((-0.02, 0.05, -0.01), (0.0, 0.0, -0.3), (0.0, 1.0, 0.0), ROUND, 0.11, "upside_down"),
    "leaning_wheel": Wheel((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), ROUND, None, "leaning"),
}


def description(folder: Path) -> str:
    for name, sizes in (("even", (0.09, 0.03, 0.0815)), ("odd", (0.09, 0.03, 0.079))):
        corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
        lines = ["v " + " ".join(str(a * b) for a, b in zip(corner, sizes, strict=True)) for corner in corners]
        (folder / f"{name}.obj").write_text("\n".join([*lines, "f 1 2 3", "f 4 5 6", "f 6 7 8"]))
    parts = ['<link name="base"><collision><geometry><box size="0.5 0.4 0.1"/></geometry></collision></link>']
    joints = {name: (at, (0.0, 0.0, 0.0), axis, "base", "") for name, (at, axis, _) in STEERING.items()}
    joints |= {
        name: (wheel.xyz, wheel.rpy, wheel.axis, f"l_{wheel.parent}" if wheel.parent != "base" else "base", wheel.shape)
        for name, wheel in WHEELS.items()
    }
    for name, (xyz, rpy, axis, parent, shape) in joints.items():
        turning, tag = name in STEERING, "visual" if name in WHEELS and WHEELS[name].seen else "collision"
        ends = 'lower="-1" upper="1"' if turning else ""
        texts = [" ".join(map(str, numbers)) for numbers in (xyz, rpy, axis)]
        parts.append(
            f'<link name="l_{name}">{f"<{tag}>{shape}</{tag}>" if shape else ""}</link>'
            f'<joint name="{name}" type="{"revolute" if turning else "continuous"}"><parent link="{parent}"/>'
            f'<child link="l_{name}"/><origin xyz="{texts[0]}" rpy="{texts[1]}"/><axis xyz="{texts[2]}"/>'
            f'<limit {ends} velocity="9" effort="9"/></joint>'
        )
    path = folder / "cart.urdf"
    path.write_text(f'<robot name="cart">{"".join(parts)}</robot>')
    return str(path)


def matrix(rpy: tuple[float, float, float]) -> np.ndarray:
    r, p, y = rpy
    return rigid.turn((0, 0, y)) @ rigid.turn((0, p, 0)) @ rigid.turn((r, 0, 0))


def rolled(wheel: Wheel, twist: tuple[float, float, float], steered: float, radius: float, apart: float) -> float:
    """Return the speed of a wheel in rad/s: how fast its place moves where it heads, by its radius."""
    if not (size := radius or wheel.radius):
        return 0.0
    at, axis = np.array(wheel.xyz), matrix(wheel.rpy) @ wheel.axis
    if wheel.parent != "base":
        # Where it would be straight ahead.
        at = at + STEERING[wheel.parent][0]
        axis = rigid.turn((0.0, 0.0, steered)) @ axis
    y = math.copysign(0.5 * apart, at[1]) if apart else at[1]
    moves = np.array([twist[0] - twist[2] * y, twist[1] + twist[2] * at[0]])
    return float(moves @ [axis[1], -axis[0]]) / math.hypot(axis[0], axis[1]) / size


@pytest.mark.parametrize(
    ("dt", "twist", "sizes"),
    [
        (0.05, (0.7, -0.4, 0.9), (0.0, 0.0)),
        (0.013, (-0.3, 0.5, -0.6), (0.23, 0.0)),
        (0.05, (0.7, 0.2, 0.9), (0.0, 1.3)),
    ],
)
@holds(
    "api:Agent.get_joint_state",
    fault="models/kinematics/links.py: a wheel counts whose axis is level by 0.87",
)  # fmt: skip
def test_wheels_roll_without_slipping(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    dt: float,
    twist: tuple[float, float, float],
    sizes: tuple[float, float],
) -> None:
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, compiled_code="never", collision_check_frequency=0)
    )
    with caplog.at_level(logging.WARNING):
        robot = sim.spawn(
            fs.AgentSpawnParams(
                urdf_path=description(tmp_path), mass=0.0, motion_mode="omnidirectional", max_linear_vel=9.0,
                max_linear_accel=1e6, max_angular_vel=9.0, max_angular_accel=1e6,
                initial_pose=fs.Pose.from_yaw(0.4, -0.7, 0.1, yaw=0.7), wheel_radius=sizes[0] or None,
                wheel_separation=sizes[1] or None,
            )
        )  # fmt: skip
        angles = dict.fromkeys(STEERING, 0.3)
        robot.set_joint_positions(angles)
        robot.set_velocity(twist[0], twist[1], wz=twist[2])
        before = robot.get_all_joints_state_by_name()
        for _ in range(3):
            sim.step_once()
    unknown = " ".join(record.getMessage() for record in caplog.records if "unknown radius" in record.getMessage())
    odd = () if sizes[0] else ("odd_wheel", "box_wheel")
    assert all((name in unknown) == (name in odd) for name in WHEELS)
    state = robot.get_all_joints_state_by_name()
    for name, wheel in WHEELS.items():
        angle = STEERING.get(wheel.parent, (0, 0, 0.0))[2] or 0.0
        speed = 0.0 if name in ("tilted_wheel", "leaning_wheel") else rolled(wheel, twist, angle, *sizes)
        assert state[name][1] == pytest.approx(speed, rel=1e-6, abs=1e-9), name
        # The first step gets faster evenly.
        assert state[name][0] - before[name][0] == pytest.approx(2.5 * dt * speed, rel=1e-6, abs=1e-9), name
    assert {name: state[name][0] for name in STEERING} == angles
    sim.close()


@holds(
    "api:AgentSpawnParams.wheel_radius",
    fault="robots/template.py: the separation is counted from the middle to each side twice",
)  # fmt: skip
def test_driven_wheels_are_those_with_sideways_axes_on_the_base(tmp_path: Path) -> None:
    model = load_robot_model(description(tmp_path))
    places = {name: place for place, name in enumerate(model.movable_names)}
    for radius, separation in ((None, None), (0.2, 0.9)):
        wheels = find_wheels(model, radius, separation)
        driven = {}
        for name, wheel in WHEELS.items():
            axis = matrix(wheel.rpy) @ wheel.axis
            # Those that collide as meshes or boxes, or are only seen, have a radius only where one is given.
            size = radius or (wheel.radius if wheel.shape in (ROUND, BALL) and not wheel.seen else None)
            if wheel.parent == "base" and abs(axis[1]) >= 0.9 and size:
                driven[name] = math.copysign(1.0 / size, axis[1])
        assert len(driven) >= (3 if radius is None else 5)
        for name, place in places.items():
            assert wheels.rates[place] == pytest.approx(driven.get(name, 0.0), rel=1e-9), name
            if name in driven:
                y = WHEELS[name].xyz[1]
                assert wheels.offsets[place] == pytest.approx(math.copysign(0.45, y) if separation else y)
        assert wheels.driven
