"""`ros2 component` against a container in another process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ros2component import api

CONTAINER = Path(__file__).parents[1] / "programs" / "container.py"
NAME = "/fleet/container"


@pytest.fixture
def container() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", str(CONTAINER), "--ros-args", "-r", "__ns:=/fleet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    yield process
    process.terminate()
    process.communicate()


def test_components_are_loaded_listed_and_unloaded(container: Any, ros2: Any) -> None:
    words = [NAME, "demo", "demo::Lidar", "-n", "lidar", "--node-namespace", "/fleet", "--log-level", "warn"]
    rules = ["-r", "scan:=front/scan", "-p", "rate:=2.5", "-p", "frame:=base", "-e", "fast:=true"]
    done = ros2("component", "load", *words, *rules)
    assert done.stdout == f"Loaded component 1 into '{NAME}' container node as '/fleet/lidar'\n", done.stderr
    request = json.loads(container.stdout.readline())
    assert (request["package_name"], request["log_level"]) == ("demo", 30)
    assert request["remap_rules"] == ["scan:=front/scan"]
    rate, frame = request["parameters"]
    assert (rate["name"], rate["value"]["double_value"]) == ("rate", 2.5)
    assert (frame["name"], frame["value"]["string_value"]) == ("frame", "base")
    assert request["extra_arguments"][0]["value"]["bool_value"] is True
    assert ros2("component", "list").stdout == f"{NAME}\n  1  /fleet/lidar\n"
    assert ros2("component", "list", NAME).stdout == "1  /fleet/lidar\n"
    assert ros2("component", "list", "--containers-only").stdout == f"{NAME}\n"
    assert ros2("component", "unload", "-q", NAME, 1).stdout == "1\n"
    again = ros2("component", "unload", NAME, 1)
    assert again.returncode == 1 and "Failed to unload component 1" in again.stderr
    assert ros2("component", "list", NAME).stdout == ""


def test_what_a_container_refuses_is_told(container: Any, ros2: Any) -> None:
    refused = ros2("component", "load", NAME, "demo", "demo::Broken")
    assert (refused.returncode, refused.stderr) == (1, "Failed to load component: It is broken\n")
    bad = ros2("component", "load", NAME, "demo", "demo::Lidar", "-p", "rate=3")
    assert bad.returncode == 1 and "write name:=value" in bad.stderr


def test_a_container_that_is_not_there_is_named(ros2: Any) -> None:
    done = ros2("component", "list", "/nobody")
    assert (done.returncode, done.stderr) == (1, "Unable to find container node '/nobody'\n")


def test_types_are_those_that_packages_register(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ros2: Any
) -> None:
    index = tmp_path / "share" / "ament_index" / "resource_index"
    for kind, content in (("packages", ""), ("rclcpp_components", "demo::A;lib/a.so\ndemo::B;lib/b.so\n")):
        (index / kind).mkdir(parents=True)
        (index / kind / "demo").write_text(content)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert ros2("component", "types").stdout == "demo\n  demo::A\n  demo::B\n"
    assert ros2("component", "types", "demo").stdout == "demo::A\ndemo::B\n"
    assert ros2("component", "types", "nothing").returncode == 1
    assert api.get_registered_component_types() == [("demo", ["demo::A", "demo::B"])]
    assert api.get_package_component_types(package_name="std_msgs") == []


def test_a_container_of_ones_own_is_not_covered(ros2: Any) -> None:
    done = ros2("component", "standalone", "-c", "alone", "demo", "demo::A", "-p", "rate:=1")
    assert done.returncode == 1 and "'ros2 component standalone' is not covered" in done.stderr
