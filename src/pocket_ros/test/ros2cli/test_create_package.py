"""`ros2 pkg create`: what it writes can be built, installed and run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest


def test_a_python_package_is_installed_and_its_program_run(tmp_path: Path, ros2: Any) -> None:
    words = ["--license", "MIT", "--node-name", "hello", "--dependencies", "rclpy", "std_msgs"]
    made = ros2("pkg", "create", "greeter", "--build-type", "ament_python", *words, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "greeter"
    manifest = ElementTree.parse(folder / "package.xml").getroot()
    assert [tag.text for tag in manifest.findall("depend")] == ["rclpy", "std_msgs"]
    assert manifest.findtext("export/build_type") == "ament_python"
    assert (folder / "LICENSE").read_text().startswith("MIT License")
    prefix = tmp_path / "prefix"
    # As colcon does it: setup.cfg says where the programs go.
    install = ["setup.py", "-q", "install", "--prefix", prefix, "--record", tmp_path / "record"]
    subprocess.run(
        [sys.executable, *install, "--single-version-externally-managed"],
        cwd=folder,
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    (site,) = prefix.glob("lib/python*/site-packages")
    environment = {**os.environ, "AMENT_PREFIX_PATH": str(prefix), "PYTHONPATH": str(site)}
    assert "greeter hello" in ros2("pkg", "executables", "greeter", env=environment).stdout
    assert ros2("run", "greeter", "hello", env=environment).stdout == "greeter says hello\n"
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=folder, capture_output=True, text=True)
    assert tests.returncode == 0, tests.stdout


def test_texts_are_escaped_where_they_stand(tmp_path: Path, ros2: Any) -> None:
    words = ["--build-type", "ament_python", "--description", "a < b & 'c'", "--license", "my own"]
    made = ros2("pkg", "create", "odd", *words, "--maintainer-email", 'a"b@c.org', cwd=tmp_path)
    assert "Unknown license 'my own'" in made.stdout and not (tmp_path / "odd/LICENSE").exists()
    manifest = ElementTree.parse(tmp_path / "odd/package.xml").getroot()
    assert manifest.findtext("description") == "a < b & 'c'"
    maintainer = manifest.find("maintainer")
    assert maintainer is not None and maintainer.get("email") == 'a"b@c.org'
    compile((tmp_path / "odd/setup.py").read_text(), "setup.py", "exec")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
def test_a_package_in_cpp_is_built_and_its_program_run(tmp_path: Path, ros2: Any) -> None:
    words = ["--build-type", "cmake", "--node-name", "hello", "--library-name", "greeting"]
    made = ros2("pkg", "create", "greeter", "--destination-directory", tmp_path, *words)
    assert made.returncode == 0, made.stderr
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    for words in (
        ["cmake", "-S", tmp_path / "greeter", "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}"],
        ["cmake", "--build", build, "--target", "install"],
    ):
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([prefix / "lib/greeter/hello"], capture_output=True, text=True)
    assert done.stdout == "greeter says hello\n"
    assert (prefix / "share/greeter/cmake/greeterConfig.cmake").is_file()


def test_the_files_of_ament_cmake(tmp_path: Path, ros2: Any) -> None:
    words = ["--node-name", "same", "--library-name", "same", "--dependencies", "rclcpp"]
    made = ros2("pkg", "create", "greeter", *words, cwd=tmp_path)
    assert "renaming node to same_node" in made.stderr
    lists = (tmp_path / "greeter/CMakeLists.txt").read_text()
    for line in (
        "find_package(rclcpp REQUIRED)",
        "add_executable(same_node src/same_node.cpp)",
        "ament_export_dependencies(rclcpp)",
    ):
        assert line in lists
    assert lists.endswith("ament_package()\n")
    assert (tmp_path / "greeter/include/greeter/same.hpp").is_file()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["../out"], "'../out' is no name"),
        (["a-b", "--build-type", "ament_python"], "'a-b' cannot be the name of a Python module"),
        (["test", "--build-type", "ament_python"], "can't be named 'test'"),
        (["ok", "--node-name", "a b"], "'a b' is no name"),
        (["there"], "The directory already exists"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    words: list[str], reason: str, tmp_path: Path, ros2: Any
) -> None:
    (tmp_path / "there").mkdir()
    made = ros2("pkg", "create", *words, cwd=tmp_path)
    assert made.returncode == 1 and reason in made.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_licenses_are_listed(ros2: Any) -> None:
    assert ros2("pkg", "create", "any", "--license", "?").stdout.split("\n")[1:4] == [
        "Apache-2.0",
        "BSD-3-Clause",
        "MIT",
    ]
