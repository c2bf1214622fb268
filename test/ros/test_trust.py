"""What arrives, and what interfaces make of it, stops neither the simulation nor the executor."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

import pytest
import rclpy
import yaml
from hosted_node import hosted_node
from nav_msgs.msg import OccupancyGrid
from rclpy.executors import ExternalShutdownException
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile

import fleet_sim as fs
from fleet_sim.facade.recording import RecordedInputs
from fleet_sim.ros import interface, messages
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.main import spin
from fleet_sim.ros.node import INTERFACES, FleetSimNode
from fleet_sim.ros.services import read_options
from fleet_sim.world.user_code import MAX_FAILURES
from fleet_sim_msgs.srv import TakePicture

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Broken(Interface):
    """Raises wherever it can."""

    published = 0

    def receive(self) -> None:
        self.bridge.gateway.take("broken", lambda: 1 / 0)  # type: ignore[arg-type,return-value]
        self.bridge.gateway.take("broken", lambda: fs.Stop(source="broken"))
        raise LookupError("received nonsense")

    def publish(self, now: int) -> None:
        Broken.published += 1
        raise RecursionError("too deep")


@pytest.fixture
def node() -> Iterator[FleetSimNode]:
    Broken.published = 0
    INTERFACES.register("broken", Broken)
    try:
        with hosted_node("-p", "robots:=1") as made:
            yield made
    finally:
        INTERFACES.unregister("broken")


def test_a_broken_interface_does_not_end_the_simulation(node: FleetSimNode) -> None:
    sim = node.simulation
    log = fs.record_commands(sim)
    for _ in range(3 * MAX_FAILURES):
        sim.step_once()
    assert sim.step_count == 3 * MAX_FAILURES
    assert Broken.published == MAX_FAILURES, "after so many in a row it publishes no more"
    assert node.simulation.guard.switched_off == {"ROS interface Broken (Broken.publish)": 1}
    assert len(log.entries) == 3 * MAX_FAILURES, "one message that fails costs no other, and nobody is cut off"
    assert sim.guard.total >= 4 * MAX_FAILURES


def test_faults_in_between_do_not_switch_an_interface_off() -> None:
    class Moody(Interface):
        calls = 0

        def publish(self, now: int) -> None:
            Moody.calls += 1
            if Moody.calls % MAX_FAILURES:
                raise ValueError

    INTERFACES.register("moody", Moody)
    try:
        with hosted_node("-p", "robots:=1") as node:
            # Once when the node was made.
            for _ in range(5 * MAX_FAILURES - 1):
                node.simulation.step_once()
            assert (Moody.calls, node.simulation.guard.switched_off) == (5 * MAX_FAILURES, {})
    finally:
        INTERFACES.unregister("moody")


def test_an_idle_step_calls_only_what_has_something_to_do() -> None:
    with hosted_node("-p", "robots:=1") as node:
        for _ in range(20):
            node.simulation.step_once()
        calls: Counter[str] = Counter()

        def count(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                calls[frame.f_code.co_filename.rpartition("/")[2]] += 1

        sys.setprofile(count)
        try:
            for _ in range(10):
                node.simulation.step_once()
        finally:
            sys.setprofile(None)
    assert calls["user_code.py"] <= 400, calls
    assert calls.total() <= 4_000, calls


class BrokenService(Interface):
    """Serves what fails."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(TakePicture, "broken/fault", self._fault)
        bridge.serve(TakePicture, "broken/refusal", self._refusal)

    async def _fault(self, request: Any, response: Any) -> Any:
        return {}["no such key " + 1_000 * "x"]

    async def _refusal(self, request: Any, response: Any) -> Any:
        raise fs.InvalidValueError("the lens is covered")


def test_no_writer_waits_for_readers_that_stop() -> None:
    """One that keeps all messages would, for ten seconds each time; one that keeps the last ones never does."""
    known = {name: value for name, value in vars(messages).items() if isinstance(value, QoSProfile)}
    assert {name for name, profile in known.items() if profile.history != HistoryPolicy.KEEP_LAST} == set()
    goals = [value for name, value in messages.GOALS.items() if name != "result_timeout"]
    assert all(profile is messages.REQUESTS for profile in goals) and len(known) > 7


def test_a_client_is_told_why_a_request_failed() -> None:
    """Not "internal error" alone: the kind of the error, its text up to a bound, and where there is more."""
    INTERFACES.register("broken_service", BrokenService)
    try:
        with hosted_node("-p", "robots:=1") as node:
            asker = rclpy.create_node("asker")
            answers = {}
            for name in ("fault", "refusal"):
                client = asker.create_client(TakePicture, f"broken/{name}")
                future = client.call_async(TakePicture.Request())
                while not future.done():
                    rclpy.spin_once(node, timeout_sec=0.1)
                    rclpy.spin_once(asker, timeout_sec=0.0)
                answers[name] = future.result().message
            asker.destroy_node()
    finally:
        INTERFACES.unregister("broken_service")
    assert answers["refusal"] == "the lens is covered"
    assert re.match(r"internal error: KeyError: 'no such key x+; see the log of the simulation$", answers["fault"])
    assert len(answers["fault"]) < 300


def test_a_map_of_a_huge_hall_is_published_with_coarser_cells(tmp_path: Path) -> None:
    shape = {"shape_type": "box", "half_extents": [1.0, 1.0, 1.0]}
    corners = [
        {"name": f"b{x:g}", "pose": [x, x, 0.5], "shape": shape, "collision_mode": "static"} for x in (0.0, 600.0)
    ]
    scenario = {"simulation": {"gui": False, "monitor": False}, "objects": corners}
    (tmp_path / "hall.yaml").write_text(yaml.safe_dump(scenario))
    with hosted_node("-p", f"config:={tmp_path / 'hall.yaml'}") as node:
        reader = rclpy.create_node("reader")
        maps: list[OccupancyGrid] = []
        reader.create_subscription(OccupancyGrid, "map", maps.append, LATCHED)
        while not maps:
            node.simulation.step_once()
            rclpy.spin_once(node, timeout_sec=0.01)
            rclpy.spin_once(reader, timeout_sec=0.01)
        reader.destroy_node()
        assert node.simulation.guard.total == 0
    info = maps[0].info
    assert info.resolution > 0.1 and info.width * info.height <= 26_000_000
    assert info.width * info.resolution > 600.0


def test_what_clients_set_of_entities_is_bounded_in_all() -> None:
    msg = pytest.importorskip("simulation_interfaces.msg")
    from fleet_sim.ros.simulation_answers import EntityInfos

    with fs.MultiRobotSimulationCore.from_dict({"gui": False}) as sim:
        rows = [sim.spawn(fs.SimObjectSpawnParams(name=f"o{number}")).row for number in range(12)]
        infos, long = EntityInfos(sim.world), msg.EntityInfo(tags=["x" * 10_000] * 100)
        long.category.category = msg.EntityCategory.CATEGORY_OBJECT
        for row in [*rows[:10], rows[3]]:
            infos.give(row, long)
        with pytest.raises(fs.InvalidValueError, match="at most 10,000,000 characters"):
            infos.give(rows[10], long)
        sim.remove_object(sim.world.handles[rows[0]])
        infos.forget_gone()
        infos.give(rows[10], long)


def test_robots_with_names_that_ros_does_not_allow_fill_neither_log_nor_memory(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interface, "MOST_UNNAMED", 50)
    with hosted_node("-p", "robots:=1") as node:
        for number in range(3):
            entry = {"name": f"{number} b", "shape": {"shape_type": "sphere", "radius": 0.1}, "grid": {"count": 40}}
            node.simulation.inbox.put(fs.Spawn(robots=(entry,)).from_outside())
            node.simulation.step_once()
        assert 0 < len(node._bridge.unnamed) <= 50
    assert 0 < capfd.readouterr().err.count("a ROS name consists of") < 30


def test_robots_that_a_message_spawns_get_their_topics_in_portions() -> None:
    robots = {"name": "r", "shape": {"shape_type": "sphere", "radius": 0.1}, "grid": {"count": 200, "columns": 20}}
    with hosted_node("-p", "robots:=1", "-p", "target_rtf:=0.0") as node:
        sim, counts = node.simulation, []
        run = Thread(target=sim.run_simulation)
        run.start()
        sim.events.on("post_step", lambda **_: counts.append(node.topic_count))
        sim.inbox.put(fs.Spawn(robots=(robots,)).from_outside()).result(60.0)
        end = time.monotonic() + 60.0
        while time.monotonic() < end and not (len(counts) > 9 and counts[-1] == counts[-9] > 200):
            time.sleep(0.01)
        sim.stop()
        run.join(60.0)
        # A step for each portion; in the end each has all that the first one has.
        assert len(set(counts)) > 4
        names = [name for name, _ in node.get_topic_names_and_types() if "/_action/" not in name]
        first, last = (
            {name.removeprefix(f"/{one}/") for name in names if f"/{one}/" in name} for one in ("robot_0", "r_199")
        )
        assert first == last and "odom" in last


def test_the_executor_goes_on_after_a_fault() -> None:
    class Executor:
        ends = iter([ValueError("255 is no type"), RecursionError(), None, AssertionError("spun once more")])

        def spin(self) -> None:
            error = next(self.ends)
            if error is not None:
                raise error

    told: list[str] = []
    spin(Executor(), told.append)  # type: ignore[arg-type]
    assert len(told) == 2
    assert "255 is no type" in told[0]


def test_the_executor_ends_with_ros() -> None:
    class Executor:
        def spin(self) -> None:
            raise ExternalShutdownException

    with pytest.raises(ExternalShutdownException):
        spin(Executor(), print)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "{a: &a [*a]}", "x" * 200_000, "!!int abc", "[]"],
    ids=["deep", "loop", "long", "tag", "list"],
)
def test_options_of_a_spawn_are_bounded(text: str) -> None:
    with pytest.raises(fs.InvalidValueError, match="options") as caught:
        read_options(text)
    assert len(str(caught.value)) < 1000


def test_what_the_node_tells_of_robots_is_no_part_of_a_run_that_is_repeated(tmp_path: Path) -> None:
    pytest.importorskip("rmf_fleet_msgs")
    robot = {"name": "porter", "shape": {"shape_type": "sphere", "radius": 0.2}, "slotcar": {}}
    scenario = {"simulation": {"gui": False, "monitor": False}, "robots": [robot], "ros": {"rmf": {"enabled": True}}}
    (tmp_path / "hall.yaml").write_text(yaml.safe_dump(scenario))
    inputs = tmp_path / "inputs.jsonl"
    with hosted_node("-p", f"config:={tmp_path / 'hall.yaml'}", "-p", f"record_inputs:={inputs}") as node:
        for _ in range(60):
            node.simulation.step_once()
    recorded = RecordedInputs.load(inputs)
    with fs.MultiRobotSimulationCore.from_dict(recorded.scenario) as sim:
        # It raises where the run ends in another state.
        recorded.replay(sim)
