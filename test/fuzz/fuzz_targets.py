"""All targets by name. Each is made when it is chosen, as some need packages that others do not."""

from __future__ import annotations

from collections.abc import Callable

import fuzz_engines
import fuzz_files
import fuzz_live
import fuzz_machine
import fuzz_node
import fuzz_pages
import fuzz_parameters
import fuzz_readers
import fuzz_recordings
import fuzz_ros
import fuzz_scenarios
import fuzz_schema
import fuzz_states
import fuzz_sweeps
import fuzz_vehicles
import fuzz_worlds
from fuzz_target import Target

TARGETS: dict[str, Callable[[], Target]] = {
    "yaml": fuzz_files.yaml_target,
    "urdf": fuzz_files.urdf_target,
    "sdf": fuzz_files.sdf_target,
    "mjcf": fuzz_files.mjcf_target,
    "xacro": fuzz_files.xacro_target,
    "mesh": fuzz_files.mesh_target,
    "site": fuzz_files.site_target,
    "recording": fuzz_recordings.recording_target,
    "log": fuzz_worlds.log_target,
    "options": fuzz_worlds.options_target,
    "machine": fuzz_machine.machine_target,
    "scenario": fuzz_scenarios.scenario_target,
    "state": fuzz_states.states_target,
    "vda5050": fuzz_vehicles.vehicles_target,
    "mujoco": fuzz_engines.mujoco_target,
    "sweep": fuzz_sweeps.sweep_target,
    "building": fuzz_sweeps.building_target,
    "cdr": fuzz_ros.cdr_target,
    "node": fuzz_node.node_target,
    "page": fuzz_pages.pages_target,
    "parameters": fuzz_parameters.parameters_target,
    "schema": fuzz_schema.schema_target,
    "readers": fuzz_readers.readers_target,
    "live": fuzz_live.live_target,
}

NEEDS = {
    "cdr": "rclpy",
    "node": "pocket_ros",
    "live": "pocket_ros",
    "recording": "mcap",
    "mujoco": "mujoco",
    "vda5050": "paho",
    "xacro": "xacro",
    "page": "viser",
    "readers": "viser",
    "parameters": "rclpy",
}
"""The module without which a target is left out."""
