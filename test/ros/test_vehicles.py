"""The node and a master control: vehicles at a broker, and what came of its messages in /diagnostics."""

from __future__ import annotations

import pytest
from hosted_node import hosted_node, until

pytest.importorskip("paho.mqtt", reason="needs the extra vda5050")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from master_control import MasterControl
from mqtt_broker import TestBroker

from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.vda5050.address import PASSWORD

NAME = "fleet_sim: vda5050"


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_master_control_sends_is_counted_in_diagnostics() -> None:
    broker = TestBroker()
    heard: list[dict[str, str]] = []

    def hear(message: DiagnosticArray) -> None:
        heard.extend({value.key: value.value for value in one.values} for one in message.status if one.name == NAME)

    try:
        with hosted_node("-p", "robots:=2", "-p", f"vda5050:=mqtt://127.0.0.1:{broker.port}") as node:
            node.create_subscription(DiagnosticArray, "/diagnostics", hear, 10)
            with MasterControl(broker.port) as master:
                master.wait("robot_0", "connection", lambda told: told["connectionState"] == "ONLINE")
                master.publish("robot_0", "order", "no order")
                master.publish("robot_0", "order", b"\xff")
                master.instant("robot_1", "stateRequest", "r")

                def is_counted() -> bool:
                    last = heard[-1] if heard else {}
                    return last.get("not_let_in") == last.get("taken") == last.get("refused") == "1"

                until(is_counted, node.simulation.step_once, lambda: rclpy.spin_once(node, timeout_sec=0.001))
                told = heard[-1]
        expected = {"vehicles": "2", "not_let_in: not UTF-8": "1", "refused: order: malformed": "1"}
        assert {key: told.get(key) for key in expected} == expected and told["taken: instantActions"] == "1"
    finally:
        broker.stop()


def test_a_broker_is_refused_beside_read_only_and_with_a_password_that_all_could_read() -> None:
    for given, reason in (
        (("-p", "vda5050:=mqtt://localhost", "-p", "read_only:=true"), "read_only"),
        (("-p", "vda5050:=mqtt://me:secret@localhost"), PASSWORD),
        (("-p", "vda5050:=http://localhost"), "mqtt://host"),
    ):
        try:
            with pytest.raises(ConfigError, match=reason) as caught, hosted_node(*given):
                pass
        finally:
            rclpy.try_shutdown()
        assert "secret" not in str(caught.value)
