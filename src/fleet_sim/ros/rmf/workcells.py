"""Dispensers and ingestors in ROS: requests, their results, and the state of each cell."""

from __future__ import annotations

from typing import Any

from rclpy.qos import QoSProfile
from rmf_dispenser_msgs.msg import DispenserRequest, DispenserResult, DispenserState
from rmf_fleet_msgs.msg import FleetState
from rmf_ingestor_msgs.msg import IngestorRequest, IngestorResult, IngestorState

from fleet_sim.equipment import ServeRobot
from fleet_sim.equipment.workcell import Workcells
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.rmf.inbox import RequestTopic

FLEETS = "/fleet_states"
MOST_FLEETS = 1000
"""Fleets whose robots are remembered."""
MOST_ROBOTS, LONGEST_NAME = 10_000, 1000
"""Robots of a fleet, and characters of a name."""


class WorkcellTopics:
    """The topics of all dispensers and ingestors. Which robots are of a fleet is heard on `/fleet_states`."""

    def __init__(self, bridge: Bridge, cells: Workcells) -> None:
        self._bridge = bridge
        self._cells = cells
        self._fleets: dict[str, tuple[str, ...]] = {}
        self._served: list[tuple[str, bool, str, bool]] = []
        self._busy: dict[str, str] = {}
        make = bridge.robots.create_publisher
        # By whether a cell ingests.
        self._states = {
            False: make(DispenserState, "/dispenser_states", qos.STATE),
            True: make(IngestorState, "/ingestor_states", qos.STATE),
        }
        self._results = {
            False: make(DispenserResult, "/dispenser_results", qos.STATE),
            True: make(IngestorResult, "/ingestor_results", qos.STATE),
        }
        self.topics = [
            RequestTopic(bridge, FleetState, FLEETS, self._hear_fleet, QoSProfile(depth=10)),
            RequestTopic(bridge, DispenserRequest, "/dispenser_requests", self._request),
            RequestTopic(bridge, IngestorRequest, "/ingestor_requests", self._request),
        ]
        bridge.sim.events.on("robot_served", self._note)

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the results that there are, after the state of each cell that had something to do."""
        served, self._served = self._served, []
        world, table = self._bridge.sim.world, self._cells.table
        self._busy = {name: request for name, _, request, _ in served}
        for row in self._cells.rows.tolist():
            name = world.label(row)
            if due or name in self._busy:
                self._publish_state(name, bool(table.ingests[row]), now)
        for name, ingests, request, success in served:
            kind = IngestorResult if ingests else DispenserResult
            for status in (kind.ACKNOWLEDGED, kind.SUCCESS if success else kind.FAILED):
                self._results[ingests].publish(
                    kind(time=time_to_msg(now), request_guid=request, source_guid=name, status=status)
                )

    def _publish_state(self, name: str, ingests: bool, now: int) -> None:
        """Publish the state of a cell: BUSY with the request that it serves, else IDLE."""
        kind = IngestorState if ingests else DispenserState
        request = self._busy.get(name)
        self._states[ingests].publish(
            kind(
                time=time_to_msg(now),
                guid=name,
                mode=kind.IDLE if request is None else kind.BUSY,
                request_guid_queue=[] if request is None else [request],
            )
        )

    def _note(self, cell: Any, request: str, success: bool, reason: str) -> None:
        row = cell.row
        self._served.append((self._bridge.sim.world.label(row), bool(self._cells.table.ingests[row]), request, success))

    def _hear_fleet(self, message: FleetState) -> None:
        names = tuple(robot.name for robot in message.robots[: MOST_ROBOTS + 1])
        if len(names) > MOST_ROBOTS or max(map(len, (message.name, *names))) > LONGEST_NAME:
            most = f"at most {MOST_ROBOTS} robots, and names of {LONGEST_NAME} characters"
            raise InvalidValueError(f"expected {most}, got {len(message.robots)}")
        if message.name in self._fleets or len(self._fleets) < MOST_FLEETS:
            self._fleets[message.name] = names

    def _request(self, message: DispenserRequest | IngestorRequest) -> ServeRobot:
        robots = self._fleets.get(message.transporter_type, ())
        return ServeRobot(
            cell=message.target_guid, robots=robots, request=message.request_guid, source="workcell_requests"
        )
