"""Interface packages as Python modules, bundled and installed ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_every_way_to_import_is_one_class() -> None:
    import std_msgs.msg
    from std_msgs.msg import String
    from std_msgs.msg._string import String as Direct

    assert std_msgs.msg.String is String is Direct
    assert "String" in dir(std_msgs.msg)


def test_missing_names_are_import_errors() -> None:
    with pytest.raises(ImportError):
        from std_msgs.msg import Strin  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        import std_msgs.action  # noqa: F401


def test_installed_packages_are_found_in_the_ament_index(tmp_path: Path) -> None:
    share = tmp_path / "share" / "my_interfaces"
    (share / "msg").mkdir(parents=True)
    (share / "msg" / "Robot.msg").write_text("string name\nPart[] parts\ngeometry_msgs/Pose pose\n")
    (share / "msg" / "Part.msg").write_text("uint8 kind 7\n")
    (share / "package.xml").write_text("<package><name>my_interfaces</name></package>")
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "my_interfaces").write_text("")
    code = (
        "from my_interfaces.msg import Part, Robot\n"
        "from rclpy.serialization import deserialize_message, serialize_message\n"
        "robot = Robot(name='r', parts=[Part(), Part(kind=1)])\n"
        "assert deserialize_message(serialize_message(robot), Robot) == robot\n"
        "print([p.kind for p in robot.parts])\n"
    )
    environment = {**os.environ, "AMENT_PREFIX_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[7, 1]", done.stderr
