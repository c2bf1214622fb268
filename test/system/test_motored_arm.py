"""An arm moved by the engine's motors, in ROS: efforts, and force/torque sensors."""

from __future__ import annotations

from pathlib import Path

import pytest
from geometry_msgs.msg import WrenchStamped
from node_program import running_scenario
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

SCENARIO = """
simulation: {timestep: 0.02, target_rtf: 1.0, physics: true}
robots:
  - name: kinematic
    pose: [0, 3, 0]
    urdf_path: arm6
    mass: 0.0
    use_fixed_base: true
  - name: arm
    urdf_path: arm6
    mass: null
    use_fixed_base: true
    joint_positions: {joint_4: -1.5}
    sensors: [{type: force_torque, link: shoulder_link, rate: 25}]
"""


def test_efforts_and_wrenches(tmp_path: Path) -> None:
    with running_scenario(tmp_path, SCENARIO) as (_, client):
        states, still = (
            client.listen(JointState, "/arm/joint_states"),
            client.listen(JointState, "/kinematic/joint_states"),
        )
        wrenches = client.listen(WrenchStamped, "/arm/wrench", qos_profile_sensor_data)
        client.until(lambda: states and still and wrenches, "states and wrenches")
        assert len(still[-1].effort) == 0
        client.until(lambda: abs(states[-1].effort[1]) > 5.0, "the shoulder to carry the arm")
        assert len(states[-1].effort) == len(states[-1].name)
        client.until(lambda: wrenches[-1].wrench.force.z > 50.0, "the weight of the arm")
        assert wrenches[-1].header.frame_id == "arm/wrench"
        assert abs(wrenches[-1].wrench.force.x) == pytest.approx(0.0, abs=5.0)
