"""All topics and services of Open-RMF together, in simulations that use them."""

from __future__ import annotations

from typing import Any

from rmf_building_map_msgs.msg import BuildingMap
from rmf_building_map_msgs.srv import GetBuildingMap

from fleet_sim.config.ros_params import RmfParams
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.rmf.building_map import building_map
from fleet_sim.ros.rmf.chargers import ChargerTopics
from fleet_sim.ros.rmf.doors import DoorTopics
from fleet_sim.ros.rmf.lifts import LiftTopics
from fleet_sim.ros.rmf.robots import RobotTopics
from fleet_sim.ros.rmf.workcells import WorkcellTopics


class RmfTopics:
    """What the plugins of Open-RMF's simulation offer."""

    def __init__(self, bridge: Bridge, params: RmfParams) -> None:
        sim = bridge.sim
        use, clock = sim.features.use, sim.clock
        slotcars, doors = use("slotcar"), use("door")
        if not slotcars.levels:
            slotcars.levels = {params.level: 0.0}
        self._robots = RobotTopics(bridge, slotcars)
        self._doors = DoorTopics(bridge, doors)
        self._lifts = LiftTopics(bridge, use("lift"), doors)
        self._cells = WorkcellTopics(bridge, use("workcell"))
        self._chargers = ChargerTopics(bridge, slotcars.chargers)
        parts = self._cells, self._robots, self._doors, self._lifts, self._chargers
        self._topics = [topic for part in parts for topic in part.topics]
        self._robot_times = clock.schedule(params.robot_state)
        self._door_times = clock.schedule(params.door_states)
        self._cell_times = clock.schedule(params.workcell_states)
        self._lift_times = clock.schedule(params.lift_states)
        self._charger_times = clock.schedule(params.charger_states)
        building = sim.extensions.find_manager("building")
        if building is None:
            return
        self._map = building_map(building)
        bridge.robots.create_publisher(BuildingMap, "map", qos.LATCHED).publish(self._map)
        bridge.serve(GetBuildingMap, "get_building_map", self._answer_map)

    def receive(self) -> None:
        """Pass on the requests that have arrived."""
        for topic in self._topics:
            topic.receive()

    def publish(self, now: int) -> None:
        """Publish what is due."""
        if self._robot_times.poll() is not None:
            self._robots.publish(now)
        if self._door_times.poll() is not None:
            self._doors.publish(now)
        self._cells.publish(now, due=self._cell_times.poll() is not None)
        self._lifts.publish(now, due=self._lift_times.poll() is not None)
        self._chargers.publish(now, due=self._charger_times.poll() is not None)

    async def _answer_map(self, request: Any, response: Any) -> Any:
        response.building_map = self._map
        return response
