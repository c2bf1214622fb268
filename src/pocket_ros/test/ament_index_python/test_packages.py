"""Where packages are found: prefixes, the Python environment, source checkouts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ament_index_python import (
    InvalidResourceNameError,
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_packages_with_prefixes,
    get_resource,
    get_resource_types,
    get_resources,
    get_search_paths,
    has_resource,
)

INDEX = Path("share", "ament_index", "resource_index")


def install(prefix: Path, package: str, content: str = "") -> None:
    (prefix / INDEX / "packages").mkdir(parents=True, exist_ok=True)
    (prefix / INDEX / "packages" / package).write_text(content)
    (prefix / "share" / package).mkdir(parents=True)


def write_manifest(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text(f"<package format='3'><name>{name}</name></package>")


@pytest.fixture
def prefixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found = [tmp_path / "overlay", tmp_path / "underlay"]
    install(found[0], "foo_pkg", "overlay")
    install(found[1], "foo_pkg", "underlay")
    install(found[1], "bar_pkg")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(map(str, [*found, tmp_path / "gone"])))
    monkeypatch.chdir(tmp_path)
    return found


def test_first_prefix_wins(prefixes: list[Path]) -> None:
    assert get_search_paths()[:2] == [str(p) for p in prefixes]
    assert get_package_prefix("foo_pkg") == str(prefixes[0])
    assert get_package_share_directory("bar_pkg") == str(prefixes[1] / "share" / "bar_pkg")
    assert get_packages_with_prefixes()["foo_pkg"] == str(prefixes[0])


def test_resources(prefixes: list[Path]) -> None:
    assert get_resource("packages", "foo_pkg") == ("overlay", str(prefixes[0]))
    assert has_resource("packages", "bar_pkg") == str(prefixes[1])
    assert has_resource("packages", "nothing") is False
    assert get_resources("packages")["bar_pkg"] == str(prefixes[1])
    assert "packages" in get_resource_types()
    with pytest.raises(LookupError):
        get_resource("packages", "nothing")
    with pytest.raises(InvalidResourceNameError):
        get_resource("packages", "a/b")


def test_unknown_package_names_it(prefixes: list[Path]) -> None:
    with pytest.raises(PackageNotFoundError, match="package 'no_such_pkg' not found"):
        get_package_prefix("no_such_pkg")
    with pytest.raises(ValueError, match="not a valid package name"):
        get_package_prefix("no/such")


def test_missing_share_directory_warns(prefixes: list[Path]) -> None:
    (prefixes[1] / "share" / "bar_pkg").rmdir()
    with pytest.warns(UserWarning, match="does not exist"):
        get_package_share_directory("bar_pkg")


def test_source_checkout_is_found_from_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_manifest(tmp_path, "root_pkg")
    write_manifest(tmp_path / "src" / "root_pkg_msgs", "root_pkg_msgs")
    (tmp_path / "launch").mkdir()
    monkeypatch.chdir(tmp_path / "launch")
    assert get_package_share_directory("root_pkg") == str(tmp_path)
    assert get_package_prefix("root_pkg_msgs") == str(tmp_path / "src" / "root_pkg_msgs")
    assert get_packages_with_prefixes()["root_pkg"] == str(tmp_path)


def test_installed_package_wins_over_a_checkout(prefixes: list[Path], tmp_path: Path) -> None:
    write_manifest(tmp_path, "foo_pkg")
    assert get_package_prefix("foo_pkg") == str(prefixes[0])


SETUP = """
from setuptools import setup
setup(
    name="demo_pkg", version="1.0", packages=["demo_pkg"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/demo_pkg"]),
        ("share/demo_pkg", ["package.xml"]), ("share/demo_pkg/launch", ["launch/demo.launch.py"]),
    ],
    entry_points={"console_scripts": ["demo_node = demo_pkg:main"]},
)
"""


@pytest.mark.parametrize("editable", [False, True])
def test_package_installed_by_pip(editable: bool, tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_manifest(source, "demo_pkg")
    (source / "setup.py").write_text(SETUP)
    for file in ("resource/demo_pkg", "launch/demo.launch.py", "demo_pkg/__init__.py"):
        (source / file).parent.mkdir()
        (source / file).write_text("def main() -> None: ...\n" if file.endswith("__init__.py") else "")
    environment = tmp_path / "environment"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", environment], check=True
    )
    python = environment / "bin" / "python"
    options = ["--editable"] if editable else []
    # The tools that built this environment serve the new one too: nothing is looked up anywhere.
    site = next((environment / "lib").glob("python*/site-packages"))
    outer = [path for path in sys.path if path.endswith("site-packages")]
    (site / "outer.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in outer))
    install = ["install", "-q", "--no-build-isolation", "--no-deps", "--no-index", *options, str(source)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True, cwd=tmp_path)
    code = """
import ament_index_python
from launch import LaunchContext
from launch_ros.substitutions import ExecutableInPackage
print(ament_index_python.get_package_share_directory('demo_pkg'))
print(ExecutableInPackage('demo_node', 'demo_pkg').perform(LaunchContext()))
"""
    words = [python, "-c", code]
    output = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    share, executable = map(Path, output.split())
    assert (share / "launch" / "demo.launch.py").is_file()
    assert executable == environment / "bin" / "demo_node"


def test_packages_of_pocket_ros_are_found_last() -> None:
    from pocket_ros._finder import INTERFACE_PACKAGES, LIBRARIES
    from pocket_ros.ament_index_python import find_bundled

    assert set(find_bundled()) == LIBRARIES | INTERFACE_PACKAGES
    for name in ("std_msgs", "launch_ros"):
        assert get_package_share_directory(name) == find_bundled()[name]


def test_packages_of_pocket_ros_have_resources(prefixes: list[Path]) -> None:
    home = get_package_prefix("std_msgs")
    assert has_resource("packages", "std_msgs") == get_resources("packages")["std_msgs"] == home
    assert get_resource("packages", "rclpy") == ("", get_package_prefix("rclpy"))
    content, prefix = get_resource("rosidl_interfaces", "std_srvs")
    assert prefix == get_package_prefix("std_srvs") and "srv/SetBool.srv" in content.splitlines()
    assert "rclpy" not in get_resources("rosidl_interfaces")
    assert has_resource("rviz_common__pluginlib__plugin", "std_msgs") is False
    assert {"packages", "rosidl_interfaces"} <= get_resource_types()
    install(prefixes[1], "std_msgs", "installed")
    assert get_resource("packages", "std_msgs") == ("installed", str(prefixes[1]))
    assert get_resources("packages")["std_msgs"] == get_package_prefix("std_msgs") == str(prefixes[1])
