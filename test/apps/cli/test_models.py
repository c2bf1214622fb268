"""`fleet-sim models` as users call it."""

from __future__ import annotations

import struct
from importlib.util import find_spec
from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main


def test_list_names_every_known_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["arm6"].endswith("arm6.urdf") and " local " in lines["arm6"]
    # PyBullet's, or where that is not installed the one of our own.
    assert f" {'pybullet_data' if find_spec('pybullet_data') else 'local'} " in lines["panda"]


def test_list_of_a_tier_has_more_than_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pybullet_data")
    assert main(["models", "list", "--tier", "pybullet_data"]) == 0
    assert "teddy_vhacd" in capsys.readouterr().out


def test_show_tells_links_joints_and_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", "mobile_manipulator"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "mobile_manipulator: mobile_manipulator, ",
        "base_link  (box 0.8 x 0.46 x 0.3",
        "[-1.4, 2.6]  2 rad/s  180 N m",
        "[0, 0.04]  0.2 m/s  60 N",
        "end effector  gripper_link (link ",
        "wheels        left_wheel_joint, right_wheel_joint",
    ):
        assert words in shown


def test_render_writes_a_picture_of_the_size_asked_for(tmp_path: Path) -> None:
    picture = tmp_path / "cube.png"
    assert main(["models", "render", "cube", str(picture), "--size", "64", "48"]) == 0
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG") and struct.unpack(">II", content[16:24]) == (64, 48)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "pnda"], "unknown model 'pnda'. Did you mean 'panda'?"),
        (["show", "/nowhere/robot.urdf"], "there is no robot description file '/nowhere/robot.urdf'"),
        (["render", "cube", "cube.jpg"], "the picture must be a .png file"),
        (["render", "cube", "no/cube.png"], "there is no folder 'no'"),
        (["render", "cube", "cube.png", "--size", "0", "4"], "expected a whole number of pixels"),
        (["list", "--path", "/nowhere"], "there is no folder '/nowhere'"),
    ],
)
def test_mistakes_are_named(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_an_unknown_model_lists_robots_and_no_numbered_objects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", "xyzzy"]) == 1
    told = capsys.readouterr().err
    assert "Known: " in told
    assert "arm6, " in told
    assert "000" not in told
