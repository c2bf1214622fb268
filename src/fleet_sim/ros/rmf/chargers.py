"""Chargers in ROS: requests and their ends, and the state of each charger."""

from __future__ import annotations

from rmf_charger_msgs.msg import ChargerCancel, ChargerRequest
from rmf_charger_msgs.msg import ChargerState as ChargerStateMsg

from fleet_sim.rmf.chargers import Charger, Chargers
from fleet_sim.rmf.commands import CancelCharge, RequestCharge
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import duration_from_msg, duration_to_msg, time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.rmf.inbox import RequestTopic, fields_from

REQUESTS, CANCELS = "rmf_charger/requests", "rmf_charger/cancel"
FIELDS = {"charger": "charger_name", "robot": "robot_name", "fleet": "fleet_name", "request": "request_id"}
"""Of a RequestCharge, with those of the message."""


class ChargerTopics:
    """The topics of all chargers of a building.

    States on rmf_charger/state, when they change and regularly; requests become the commands RequestCharge and
    CancelCharge.
    """

    def __init__(self, bridge: Bridge, chargers: Chargers) -> None:
        self._chargers = chargers
        self._publisher = bridge.robots.create_publisher(ChargerStateMsg, "rmf_charger/state", qos.STATE)
        self._told: dict[str, tuple[int, str]] = {}
        self.topics = [
            RequestTopic(bridge, ChargerRequest, REQUESTS, self._request),
            RequestTopic(bridge, ChargerCancel, CANCELS, self._cancel),
        ]

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the state of each charger that changed; of all of them where that is `due`."""
        for charger in self._chargers:
            told = int(charger.state), charger.request
            if due or self._told.get(charger.name) != told:
                self._told[charger.name] = told
                self._publisher.publish(self._message(charger, now))

    def _message(self, charger: Charger, now: int) -> ChargerStateMsg:
        """Return the state of a charger as a message; the time left is 0 where nobody knows it."""
        return ChargerStateMsg(
            charger_time=time_to_msg(now),
            state=int(charger.state),
            charger_name=charger.name,
            request_id=charger.request,
            robot_fleet=charger.fleet,
            robot_name=charger.robot,
            time_to_fully_charged=duration_to_msg(self._chargers.remaining(charger)),
        )

    def _request(self, message: ChargerRequest) -> RequestCharge:
        timeout = duration_from_msg(message.start_timeout)
        return RequestCharge(**fields_from(message, FIELDS), timeout=timeout, source=REQUESTS)

    def _cancel(self, message: ChargerCancel) -> CancelCharge:
        return CancelCharge(charger=message.charger_name, request=message.request_id, source=CANCELS)
