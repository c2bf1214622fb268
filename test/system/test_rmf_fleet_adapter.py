"""Open-RMF over real topics: what its fleet adapter, supervisors and docker send, in their order and as often."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from node_program import Client
from rmf_node import running_rmf

# A ROS 2 without Open-RMF has none of its messages.
for name in ("dispenser", "door", "fleet", "ingestor", "lift"):
    pytest.importorskip(f"rmf_{name}_msgs")

from rmf_dispenser_msgs.msg import DispenserRequest, DispenserResult  # noqa: E402
from rmf_door_msgs.msg import DoorMode  # noqa: E402
from rmf_fleet_adapter import Docker, DoorSupervisor, LiftSupervisor, RobotCommands  # noqa: E402
from rmf_fleet_msgs.msg import FleetState, RobotMode  # noqa: E402
from rmf_ingestor_msgs.msg import IngestorRequest, IngestorResult  # noqa: E402
from rmf_lift_msgs.msg import LiftRequest, LiftState  # noqa: E402

DOCKS = {"porter_2_charger": ((5.0, 6.5), (2.0, 6.5))}
DOOR, LIFT = "lobby_door", "Lift1"
pytestmark = pytest.mark.slow


class House:
    """A node with the building, the supervisors beside it, and its robots under full control."""

    def __init__(self, client: Client) -> None:
        client.patience = 120.0
        self.client = client
        self.doors, self.lifts = DoorSupervisor(client.node), LiftSupervisor(client.node)
        Docker(client.node, DOCKS)
        self.porters = [RobotCommands(client, "porters", f"porter_{number}") for number in (1, 2)]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with running_rmf(tmp_path_factory.mktemp("rmf")) as client:
        yield House(client)


def test_a_delivery_leads_through_a_door_and_by_the_lift_to_the_other_floor(house: House) -> None:
    porter, node = house.porters[0], house.client.node
    results: dict[str, set[int]] = {}

    def note(result: DispenserResult | IngestorResult) -> None:
        results.setdefault(result.request_guid, set()).add(result.status)

    node.create_subscription(DispenserResult, "dispenser_results", note, 10)
    node.create_subscription(IngestorResult, "ingestor_results", note, 10)
    fleets = node.create_publisher(FleetState, "fleet_states", 10)
    node.create_timer(0.5, lambda: fleets.publish(FleetState(name="porters", robots=[porter.state])))
    dispense = node.create_publisher(DispenserRequest, "dispenser_requests", 10)
    ingest = node.create_publisher(IngestorRequest, "ingestor_requests", 10)

    porter.arrive((5.0, 4.0), (5.0, 2.2))
    load = DispenserRequest(request_guid="load", target_guid="pantry_dispenser", transporter_type="porters")
    porter.repeat(lambda: dispense.publish(load), lambda: DispenserResult.SUCCESS in results.get("load", ()))
    porter.arrive((5.0, 4.0))
    porter.open_door(DOOR)
    porter.arrive((10.5, 4.0))
    porter.release_door(DOOR)
    porter.request_lift(LIFT, "L1")
    porter.arrive((14.3, 4.0))
    porter.request_lift(LIFT, "L2")
    house.client.until(lambda: porter.state.location.level_name == "L2")
    porter.arrive((10.5, 4.0))
    porter.end_lift(LIFT)
    porter.open_door("ward_door")
    porter.arrive((5.0, 4.0), (5.0, 1.5))
    porter.release_door("ward_door")
    unload = IngestorRequest(request_guid="unload", target_guid="ward_ingestor", transporter_type="porters")
    porter.repeat(lambda: ingest.publish(unload), lambda: IngestorResult.SUCCESS in results.get("unload", ()))
    # Nothing stays taken: the doors close, the lift is free.
    house.client.until(lambda: set(porter.doors.values()) == {DoorMode.MODE_CLOSED})
    house.client.until(lambda: porter.lifts[LIFT].session_id == "" and porter.lifts[LIFT].door_state == 0)
    assert porter.state.location.level_name == "L2" and porter.interruptions == 0
    assert DispenserResult.FAILED not in results["load"] | results["unload"]


def test_a_door_stays_open_until_the_last_of_those_who_hold_it_lets_go(house: House) -> None:
    one, other = house.porters
    one.open_door(DOOR)
    other.open_door(DOOR)
    one.release_door(DOOR)
    seen = one.state.seq
    house.client.until(lambda: one.state.seq > seen + 8)
    assert one.doors[DOOR] == DoorMode.MODE_OPEN
    # A request to close of one who does not hold it changes nothing.
    one.ask_door(DOOR, DoorMode.MODE_CLOSED)
    # A task that is cancelled while it waits for a door closes it as one that went through.
    other.release_door(DOOR)
    house.client.until(lambda: one.doors[DOOR] == DoorMode.MODE_CLOSED)


def test_the_lift_serves_one_session_after_the_other(house: House) -> None:
    one, other = house.porters
    one.request_lift(LIFT, "L1")
    # Its requests are not passed on, nor would the lift take them, until the session has ended.
    other.ask_lift(LIFT, "L2")
    house.client.until(lambda: one.has_lift(LIFT, "L1"))
    one.end_lift(LIFT)
    other.request_lift(LIFT, "L2")
    # An end of somebody else's session is not passed on.
    one.ask_lift(LIFT, "", LiftRequest.REQUEST_END_SESSION)
    seen = one.state.seq
    house.client.until(lambda: one.state.seq > seen + 8)
    assert other.has_lift(LIFT, "L2")
    other.end_lift(LIFT)
    house.client.until(lambda: one.lifts[LIFT].motion_state == LiftState.MOTION_STOPPED)


def test_repeated_requests_change_nothing_and_new_ones_replace_the_old(house: House) -> None:
    porter = house.porters[1]
    first = porter.follow((5.0, 6.5), (5.0, 4.0))
    house.client.until(
        lambda: porter.state.task_id == first.task_id and porter.state.mode.mode == RobotMode.MODE_MOVING
    )
    for _ in range(5):
        porter.path_requests.publish(first)
    second = porter.follow((2.0, 6.5))
    house.client.until(lambda: porter.has_finished(second))
    # Only the task that the robot has counts as known: one of before begins anew, and is an error where it is too far.
    porter.arrive((5.0, 6.5), (5.0, 4.0))
    porter.path_requests.publish(second)
    third = porter.follow((5.0, 6.5))
    house.client.until(lambda: porter.has_finished(third))


def test_a_robot_stops_where_it_is_and_is_planned_anew_where_a_path_begins_elsewhere(house: House) -> None:
    porter = house.porters[1]
    porter.arrive((2.0, 6.5))
    porter.follow((5.0, 6.5))
    house.client.until(lambda: porter.state.location.x > 2.5)
    stop = porter.stop()
    house.client.until(lambda: porter.has_finished(stop) and porter.state.mode.mode != RobotMode.MODE_MOVING)
    assert porter.state.location.x < 4.5
    before = porter.interruptions
    lost = porter.follow((14.0, 1.0), begin=(12.0, 1.0))
    house.client.until(lambda: porter.interruptions > before)
    assert porter.state.task_id == lost.task_id and porter.state.mode.mode == RobotMode.MODE_ADAPTER_ERROR
    porter.arrive((5.0, 6.5))
    house.client.until(lambda: porter.state.mode.mode == RobotMode.MODE_IDLE)


def test_a_robot_docks_along_the_path_of_the_docker(house: House) -> None:
    porter = house.porters[1]
    porter.arrive((5.0, 6.5))
    order = porter.dock("porter_2_charger")
    modes: set[int] = set()

    def is_docked() -> bool:
        modes.add(porter.state.mode.mode)
        return porter.state.task_id == order.task_id and porter.state.mode.mode != RobotMode.MODE_DOCKING

    house.client.until(lambda: porter.state.task_id == order.task_id)
    house.client.until(is_docked)
    assert RobotMode.MODE_DOCKING in modes
    assert abs(porter.state.location.x - 2.0) < 0.1 and abs(porter.state.location.y - 6.5) < 0.1
    # The next task goes on from there.
    porter.arrive((5.0, 6.5))
