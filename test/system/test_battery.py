"""Batteries in ROS: their states, and chargers; for robots that have one, also if they come later."""

from __future__ import annotations

from pathlib import Path

from node_program import Client, running, running_scenario
from rclpy.qos import QoSProfile
from sensor_msgs.msg import BatteryState
from shape_msgs.msg import SolidPrimitive
from simulation_interfaces.srv import GetSimulatorFeatures
from std_srvs.srv import SetBool

from fleet_sim_msgs.srv import Delete, Spawn

SCENARIO = """
simulation: {timestep: 0.05, target_rtf: 5.0}
battery: {publish_rate: 20.0}
robots:
  - {name: amr, battery: {capacity_wh: 24.0, level: 0.5, idle_power: 48.0, charge_power: 480.0, voltage: 24.0}}
  - {name: wound_up, pose: [0, 3, 0]}
"""


def charging(client: Client, name: str, wanted: bool) -> SetBool.Response:
    return client.call(SetBool, f"/{name}/set_charging", SetBool.Request(data=wanted))


def test_a_robot_with_a_battery_may_come_to_a_fleet_without(tmp_path: Path) -> None:
    """Nothing of batteries is in use when the node starts."""
    with running(tmp_path / "node.log", "-p", "robots:=1") as (_, client):
        box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.2])
        request = Spawn.Request(name="late", shape=box, options="{battery: {level: 0.25}}")
        response = client.call(Spawn, "/sim/spawn", request)
        assert response.success, response.message
        states = client.listen(BatteryState, "/late/battery_state")
        client.until(lambda: states and 0.2 < states[-1].percentage <= 0.25, "battery states")
        assert charging(client, "late", True).success


def test_requests_are_answered_although_their_robot_goes_meanwhile(tmp_path: Path) -> None:
    # A step takes half a second, so that all requests wait for the same one.
    scenario = SCENARIO.replace("target_rtf: 5.0", "target_rtf: 0.1")
    with running_scenario(tmp_path, scenario) as (process, client):
        # All answers come at once, and by default a client keeps ten.
        asking = client.node.create_client(SetBool, "/amr/set_charging", qos_profile=QoSProfile(depth=20))
        deleting = client.node.create_client(Delete, "/sim/delete")
        client.until(lambda: asking.service_is_ready() and deleting.service_is_ready(), "the services")
        assert charging(client, "amr", True).success
        asked = [asking.call_async(SetBool.Request(data=True)) for _ in range(12)]
        # Requests that the node has not taken go with the service, as in ROS. In a turn of its executor it takes one of
        # each service, so after as many answers of another service all of them are taken.
        for _ in asked:
            client.call(GetSimulatorFeatures, "/sim/get_simulator_features")
        asked.append(deleting.call_async(Delete.Request(names=["amr"])))
        client.until(lambda: all(future.done() for future in asked), "all answers")
        client.until(lambda: not asking.service_is_ready(), "the end of the robot's service")
        assert "fault" not in process.output()
