"""Open-RMF: a client follows the sequence of its fleet adapter, and a slotcar goes through a door and by a lift."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from rmf_node import running_rmf

# A ROS 2 without Open-RMF has none of its messages.
for name in ("building_map", "charger", "dispenser", "door", "fleet", "ingestor", "lift"):
    pytest.importorskip(f"rmf_{name}_msgs")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from rmf_building_map_msgs.msg import BuildingMap  # noqa: E402
from rmf_building_map_msgs.srv import GetBuildingMap  # noqa: E402
from rmf_door_msgs.msg import DoorMode, DoorRequest, DoorState  # noqa: E402
from rmf_fleet_msgs.msg import Location, ModeRequest, PathRequest, PauseRequest, RobotMode, RobotState  # noqa: E402
from rmf_lift_msgs.msg import LiftRequest, LiftState  # noqa: E402

ROBOT = "porter_1"
pytestmark = pytest.mark.slow
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Adapter:
    """What a fleet adapter sends, and hears."""

    def __init__(self, client: Any) -> None:
        self.client = client
        client.patience = 90.0
        node = client.node
        self.states: dict[str, RobotState] = {}
        self.doors: dict[str, int] = {}
        self.lifts: dict[str, LiftState] = {}
        self.modes: set[int] = set()
        node.create_subscription(RobotState, "/robot_state", self._robot, 100)
        node.create_subscription(DoorState, "/door_states", self._door, 100)
        node.create_subscription(LiftState, "/lift_states", self._lift, 100)
        kinds = {
            "/robot_path_requests": PathRequest,
            "/robot_mode_requests": ModeRequest,
            "/robot_pause_requests": PauseRequest,
            "/door_requests": DoorRequest,
            "/lift_requests": LiftRequest,
        }
        self.topics = {name: node.create_publisher(kind, name, 10) for name, kind in kinds.items()}
        self.until(lambda: all(topic.get_subscription_count() for topic in self.topics.values()))
        self.until(lambda: {ROBOT, "porter_2"} <= self.states.keys())

    def _robot(self, state: RobotState) -> None:
        self.states[state.name] = state
        self.modes.add(state.mode.mode)

    def _door(self, state: DoorState) -> None:
        self.doors[state.door_name] = state.current_mode.value

    def _lift(self, state: LiftState) -> None:
        self.lifts[state.lift_name] = state

    def until(self, condition: Callable[[], bool]) -> None:
        self.client.until(condition)

    @property
    def state(self) -> RobotState:
        return self.states[ROBOT]

    def send(self, name: str, message: Any) -> None:
        self.topics[name].publish(message)

    def path(self, task: str, *places: tuple[float, float], robot: str = ROBOT, **more: Any) -> None:
        here = self.states[robot].location if robot in self.states else Location()
        ways = [Location(x=here.x, y=here.y, yaw=here.yaw, index=0)]
        ways += [Location(x=x, y=y, index=index + 1, **more) for index, (x, y) in enumerate(places)]
        self.send("/robot_path_requests", PathRequest(fleet_name="porters", robot_name=robot, task_id=task, path=ways))

    def door(self, name: str, mode: int) -> None:
        self.send("/door_requests", DoorRequest(door_name=name, requested_mode=DoorMode(value=mode)))

    def lift(self, floor: str, **more: Any) -> None:
        request = {"session_id": "porter_1", "request_type": LiftRequest.REQUEST_AGV_MODE, "door_state": 2, **more}
        self.send("/lift_requests", LiftRequest(lift_name="Lift1", destination_floor=floor, **request))

    def arrived(self, x: float, y: float) -> bool:
        here = self.state.location
        return math.hypot(here.x - x, here.y - y) < 0.05 and not self.state.path

    def seen_again(self, count: int = 2) -> None:
        """Wait for as many more states of the robot."""
        number = self.state.seq
        self.until(lambda: self.state.seq >= number + count)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    with running_rmf(tmp_path_factory.mktemp("rmf"), charger_states=4.0) as client:
        yield Adapter(client)


def test_the_map_is_latched_and_served(adapter: Adapter) -> None:
    heard: list[BuildingMap] = []
    adapter.client.node.create_subscription(BuildingMap, "/map", heard.append, LATCHED)
    adapter.until(lambda: bool(heard))
    served = adapter.client.call(GetBuildingMap, "/get_building_map", GetBuildingMap.Request()).building_map
    assert served == heard[0] and served.name == "two_floors"
    assert [(level.name, level.elevation, [door.name for door in level.doors]) for level in served.levels] == [
        ("L1", 0.0, ["lobby_door"]),
        ("L2", 4.0, ["ward_door"]),
    ]
    graph = served.levels[0].nav_graphs[0]
    assert {node.name for node in graph.vertices} >= {"lobby", "hall_1", "lift_1"} and len(graph.edges) == 6
    assert served.lifts[0].name == "Lift1" and served.lifts[0].levels == ["L1", "L2"]
    assert math.isclose(served.lifts[0].doors[0].v1_x, 13.1, abs_tol=1e-3)


def test_what_makes_no_sense_moves_nothing(adapter: Adapter) -> None:
    before = adapter.state
    assert before.mode.mode == RobotMode.MODE_CHARGING and before.location.level_name == "L1"
    adapter.path("nobody", (5.0, 4.0), robot="porter_9")
    adapter.path("nan", (math.nan, 4.0))
    adapter.path("far", (1e30, 4.0))
    adapter.send("/robot_path_requests", PathRequest(robot_name=ROBOT, task_id="empty"))
    adapter.send("/robot_mode_requests", ModeRequest(robot_name=ROBOT, mode=RobotMode(mode=99)))
    adapter.send("/robot_pause_requests", PauseRequest(robot_name=ROBOT, type=7))
    adapter.door("no_door", DoorMode.MODE_OPEN)
    adapter.door("ShaftDoor_Lift1_L1_front", DoorMode.MODE_OPEN)
    adapter.lift("L9")
    adapter.send("/lift_requests", LiftRequest(lift_name="Lift7", destination_floor="L1"))
    adapter.seen_again()
    adapter.until(lambda: {"lobby_door", "ward_door"} == set(adapter.doors) and "Lift1" in adapter.lifts)
    after = adapter.state
    assert (after.location.x, after.task_id, after.path) == (before.location.x, "", [])
    assert set(adapter.doors.values()) == {DoorMode.MODE_CLOSED}
    lift = adapter.lifts["Lift1"]
    assert (lift.current_floor, lift.motion_state, lift.door_state) == ("L1", LiftState.MOTION_STOPPED, 0)
    diagnostics = adapter.client.listen(DiagnosticArray, "/diagnostics")
    adapter.until(lambda: bool(diagnostics))
    counts = {value.key: value.value for value in diagnostics[-1].status[0].values}
    assert counts["refused: there is no slotcar of that name"] == "1"
    assert counts["refused: the path has no waypoints"] == "1"


def test_pauses_modes_and_errors_are_told_with_their_numbers(adapter: Adapter) -> None:
    robot = "porter_2"

    def state() -> RobotState:
        return adapter.states[robot]

    adapter.path("long", (5.0, 6.5), robot=robot)
    adapter.path("long", (2.0, 6.5), robot=robot)  # known already: nothing changes
    adapter.until(lambda: state().mode.mode == RobotMode.MODE_MOVING)
    pause = PauseRequest(robot_name=robot, mode_request_id=7, type=PauseRequest.TYPE_PAUSE_IMMEDIATELY)
    adapter.send("/robot_pause_requests", pause)
    adapter.until(lambda: state().mode.mode == RobotMode.MODE_PAUSED and state().mode.mode_request_id == 7)
    assert [place.x for place in state().path] == [5.0]
    adapter.send("/robot_pause_requests", PauseRequest(robot_name=robot, mode_request_id=8, type=2))
    adapter.until(lambda: not state().path and state().mode.mode == RobotMode.MODE_IDLE)
    assert math.isclose(state().location.x, 5.0, abs_tol=0.05)
    docking = RobotMode(mode=RobotMode.MODE_DOCKING, mode_request_id=9)
    adapter.send("/robot_mode_requests", ModeRequest(robot_name=robot, mode=docking))
    adapter.until(lambda: (state().mode.mode, state().mode.mode_request_id) == (RobotMode.MODE_DOCKING, 9))
    action = RobotMode(mode=RobotMode.MODE_PERFORMING_ACTION, mode_request_id=10, performing_action="juggle")
    adapter.send("/robot_mode_requests", ModeRequest(robot_name=robot, mode=action))
    adapter.until(lambda: (state().mode.mode, state().mode.mode_request_id) == (RobotMode.MODE_IDLE, 10))
    # A path that begins elsewhere is an error, until one begins here.
    far = PathRequest(robot_name=robot, task_id="lost", path=[Location(x=14.0, y=1.0), Location(x=15.0, y=1.0)])
    adapter.send("/robot_path_requests", far)
    adapter.until(lambda: state().mode.mode == RobotMode.MODE_ADAPTER_ERROR and state().task_id == "lost")
    adapter.path("home", (2.0, 6.5), robot=robot)
    adapter.until(lambda: state().mode.mode == RobotMode.MODE_CHARGING and not state().path)
    assert state().battery_percent > 99.0
