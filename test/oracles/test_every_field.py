"""Each number that leaves the program is held by an oracle, or is a constant, and then a test sees that it is one.

A way out of the program is a function that returns the names of its fields, and a table of those that need no oracle.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from oracle_rows import ROWS

import fleet_sim

CONSTANT = "not simulated: as in an empty message"
COPIED = "copied from a setting, or from what was asked"
CODE = "a code, which tests of each outcome compare by its name"
LIBRARY = "written by the client library of ROS"
OTHER = "the same code as for "

ROS_UNHELD: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "ros:geometry_msgs/PoseWithCovarianceStamped.pose.covariance",
            "ros:nav_msgs/Odometry.pose.covariance",
            "ros:nav_msgs/Odometry.twist.covariance",
            "ros:nav_msgs/OccupancyGrid.info.origin.orientation.*",
            "ros:nav_msgs/OccupancyGrid.info.origin.position.z",
            "ros:sensor_msgs/BatteryState.cell_*",
            "ros:sensor_msgs/BatteryState.power_supply_health",
            "ros:sensor_msgs/BatteryState.power_supply_technology",
            "ros:sensor_msgs/CameraInfo.binning_*",
            "ros:sensor_msgs/CameraInfo.roi.*",
            "ros:sensor_msgs/LaserScan.time_increment",
            "ros:sensor_msgs/PointCloud2.is_bigendian",
            "ros:sensor_msgs/PointCloud2.is_dense",
            "ros:sensor_msgs/Range.variance",
            "ros:visualization_msgs/MarkerArray.markers.colors.*",
            "ros:visualization_msgs/MarkerArray.markers.frame_locked",
            "ros:visualization_msgs/MarkerArray.markers.lifetime.*",
            "ros:visualization_msgs/MarkerArray.markers.mesh_file.*",
            "ros:visualization_msgs/MarkerArray.markers.points.*",
            "ros:visualization_msgs/MarkerArray.markers.texture.*",
            "ros:visualization_msgs/MarkerArray.markers.uv_coordinates.*",
        ),
        CONSTANT,
    ),
    **dict.fromkeys(
        (
            "ros:control_msgs/FollowJointTrajectory_Feedback.multi_dof_*",
            "ros:nav2_msgs/Costmap.metadata.origin.orientation.*",
            "ros:nav2_msgs/Costmap.metadata.origin.position.z",
            "ros:nav2_msgs/*_Feedback.number_of_recoveries",
            "ros:nav2_msgs/DockRobot*.num_retries",
        ),
        "not simulated: nothing writes it",
    ),
    "ros:sensor_msgs/BatteryState.temperature": "not simulated: NaN",
    "ros:sensor_msgs/BatteryState.present": "true: others have no topic",
    "ros:sensor_msgs/PointCloud2.fields.count": "1: what lies behind it is held as data",
    "ros:visualization_msgs/MarkerArray.markers.mesh_use_embedded_materials": "a choice of looks",
    "ros:visualization_msgs/MarkerArray.markers.action": "0, and 3 once before each layout",
    "ros:*.map_load_time.*": "the stamp of the header",
    "ros:nav2_msgs/Costmap.metadata.update_time.*": "the stamp of the header",
    "ros:nav2_msgs/FollowWaypoints.missed_waypoints.goal.*": COPIED,
    "ros:nav2_msgs/FollowGPSWaypoints.missed_waypoints.goal.*": COPIED,
    "ros:nav2_msgs/*.error_code": CODE,
    "ros:control_msgs/FollowJointTrajectory.error_code": CODE,
    "ros:diagnostic_msgs/DiagnosticArray.status.level": CODE,
    "ros:nav2_msgs/FollowGPSWaypoints_Feedback.current_waypoint": OTHER + "FollowWaypoints",
    "ros:nav2_msgs/FollowGPSWaypoints.missed_waypoints.index": OTHER + "FollowWaypoints",
    **dict.fromkeys(
        (
            "ros:control_msgs/FollowJointTrajectory_Feedback.*.accelerations",
            "ros:control_msgs/FollowJointTrajectory_Feedback.*.effort",
            "ros:control_msgs/FollowJointTrajectory_Feedback.*.time_from_start.*",
        ),
        "not simulated: nothing writes it",
    ),
    "ros:rcl_interfaces/*": LIBRARY,
}
"""Fields that no oracle holds, by pattern, and why; those with CONSTANT are looked at below."""

RMF_UNHELD: Mapping[str, str] = {
    "ros:rmf_building_map_msgs/BuildingMap.*": COPIED + ", the file of the building",
    "ros:rmf_ingestor_msgs/*": OTHER + "dispensers",
    "ros:rmf_dispenser_msgs/DispenserState.seconds_remaining": "not simulated: nothing writes it",
    "ros:rmf_fleet_msgs/RobotState.location.*": "not simulated: limits and numbers are of places to go to",
    "ros:rmf_fleet_msgs/RobotState.path.*": COPIED,
    "ros:rmf_fleet_msgs/RobotState.mode.mode_request_id": COPIED,
    "ros:rmf_lift_msgs/LiftState.available_modes": "empty, as Open-RMF's simulation has it",
}


@cache
def held() -> frozenset[str]:
    """Return the patterns of all oracles; their files are imported."""
    for path in sorted(Path(__file__).parents[1].rglob("test_*.py")):
        if path.name == Path(__file__).name or "from oracle_rows import" not in path.read_text():
            continue
        spec = importlib.util.spec_from_file_location(f"rows_of_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Data classes look for the module that they are in.
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except pytest.skip.Exception:
            # Of a package that is not installed.
            continue
    return frozenset(field for row in ROWS for field in row.fields)


def check(fields: Iterable[str], unheld: Mapping[str, str]) -> None:
    """Assert that each of `fields` is held by an oracle or stands in `unheld`, and that nothing there is needless."""
    known = set(fields)
    loose = {field for field in known if not any(fnmatchcase(field, pattern) for pattern in held())}
    missing = sorted(field for field in loose if not any(fnmatchcase(field, pattern) for pattern in unheld))
    assert not missing, f"{len(missing)} numbers that no oracle holds, see oracle_rows.holds: {missing}"
    needless = sorted(pattern for pattern in unheld if not any(fnmatchcase(field, pattern) for field in loose))
    assert not needless, f"patterns that excuse nothing: {needless}"


def test_rows_name_faults_and_fields_that_there_can_be() -> None:
    assert held()
    sources = ("ros:", "vda5050:", "report:", "record:", "env:", "api:", "swarm:", "rmf:")
    assert [field for field in held() if not field.startswith(sources)] == []
    files = [path.as_posix() for path in Path(fleet_sim.__file__).parent.rglob("*.py")]
    gone = [
        row.fault
        for row in ROWS
        if not (places := re.findall(r"[\w/]+\.py", row.fault))
        or not all(any(file.endswith(f"/{place}") for file in files) for place in places)
    ]
    assert not gone, f"{len(gone)} faults in no file of ours: {gone}"


def test_every_number_of_environments_and_swarms() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from small_bins import small_bin

    from fleet_sim.learning.envs.shared import ENVIRONMENTS, register_all
    from fleet_sim.swarm.metrics import METRICS

    register_all()
    fields = {f"api:{name}.value" for name in METRICS.registered() if name[0].isupper()}
    for name in ENVIRONMENTS:
        arm = "Franka" in name
        env = gymnasium.make(name, **({"config_file": small_bin(objects=(2, 2))} if arm else {}))
        seen, _ = env.reset(seed=1)
        info = env.step(env.action_space.sample())[4]
        fields |= {f"env:{name}.reward", *(f"env:{name}.info.{key}" for key in info)}
        parts = [f".{key}" for key in (seen if isinstance(seen, dict) else range(len(seen)))] if arm else [""]
        fields |= {f"env:{name}.observation{part}" for part in parts}
        env.close()
    check(fields, {"env:*.observation.[01]": "the picture and the depths of a camera, which have oracles of their own"})


def test_every_number_of_the_node(tmp_path: Path) -> None:
    pytest.importorskip("nav2_msgs")
    from published_fields import ros_fields
    from ros_domain import use_own_domain

    use_own_domain()
    check(ros_fields(tmp_path), ROS_UNHELD)


def test_every_number_of_open_rmf(tmp_path: Path) -> None:
    pytest.importorskip("rmf_fleet_msgs")
    from published_fields import rmf_fields
    from ros_domain import use_own_domain

    use_own_domain()
    check(rmf_fields(tmp_path), RMF_UNHELD)


def test_constants_are_as_in_an_empty_message(tmp_path: Path) -> None:
    """Only of the topics of the scene, which are most."""
    pytest.importorskip("rclpy")
    from heard_node import message_class
    from published_fields import number_paths
    from ros_domain import use_own_domain
    from ros_scene import ros_scene

    use_own_domain()
    constant = [pattern for pattern, reason in ROS_UNHELD.items() if reason == CONSTANT]
    looked_at: set[str] = set()
    with ros_scene(tmp_path, 0.05) as scene:
        for topic, kind in scene.heard.kinds.items():
            name = "ros:" + kind.replace("/msg/", "/")
            paths = [path for path in number_paths(message_class(kind)) if matches(f"{name}.{path}", constant)]
            for message in scene.heard.heard[topic][:5]:
                for path in paths:
                    check_empty(message, path, f"{topic}: {path}")
                    looked_at.add(f"{name}.{path}")
    assert len(looked_at) > 30


def matches(field: str, patterns: Iterable[str]) -> bool:
    """Return whether one of `patterns` matches."""
    return any(fnmatchcase(field, pattern) for pattern in patterns)


def check_empty(message: Any, path: str, what: str) -> None:
    """Assert that the number at `path` of a message, in each element of arrays on it, is that of an empty one."""
    field, _, rest = path.partition(".")
    value, empty = getattr(message, field), getattr(type(message)(), field)
    if rest:
        for one in value if isinstance(value, list) else [value]:
            check_empty(one, rest, what)
    else:
        listed = hasattr(value, "__len__")
        assert (list(value) == list(empty)) if listed else value == empty, what
