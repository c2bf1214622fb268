"""Whatever is sent, the log stays readable, and refusals are counted by their reasons without names and numbers."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import serialize_message
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.ros import interface
from fleet_sim.ros import messages as throttle
from fleet_sim.ros import transforms as tf_listener
from fleet_sim.ros.commands import LONGEST_REASON, MOST_REASONS, OTHERS, RefusalCounts
from fleet_sim.ros.messages import LONGEST_LINE, MOST_PER_PERIOD, PERIOD, Throttle
from fleet_sim.ros.transforms import TfListener
from fleet_sim.world.commands import Stop


def test_a_flood_of_different_lines_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(throttle.time, "monotonic", lambda: now[0])
    lines: list[str] = []
    refusals = Throttle(lines.append)
    for number in range(1000):
        refusals.tell(f"robot_{number}: refused")
        refusals.tell("the same: refused")
    assert len(lines) == MOST_PER_PERIOD
    assert lines.count("the same: refused") == 1
    now[0] += PERIOD
    refusals.tell("later: refused")
    assert lines[-2:] == [f"{2000 - MOST_PER_PERIOD - 999} more lines like these were not logged", "later: refused"]
    assert refusals.count == 2001


def test_a_line_does_not_echo_all_that_was_sent() -> None:
    lines: list[str] = []
    Throttle(lines.append).tell("x" * 200_000)
    assert len(lines[0]) < LONGEST_LINE + 10


def test_names_and_numbers_make_no_other_reason() -> None:
    counts = RefusalCounts()
    for number in range(3):
        counts.add(f"path[{number}]: it is nowhere: {number * 1e30:g}, 'robot {number}'")
    counts.add("unknown robot")
    assert counts.most_common(5) == [("path[_]: it is nowhere: _, _", 3), ("unknown robot", 1)]


def test_neither_many_nor_long_reasons_fill_the_memory() -> None:
    counts = RefusalCounts()
    letters = "abcdefghijklmnopqrstuvwxyz"
    for first in letters:
        for second in letters:
            counts.add(f"{first}{second}" * 100_000)
    found = counts.most_common(1000)
    assert len(found) == MOST_REASONS + 1 and found[0] == (OTHERS, 26 * 26 - MOST_REASONS)
    assert max(len(reason) for reason, _ in found) == LONGEST_REASON


# ---- Who sends faster than messages are read holds up no step, and fills no memory -----------------------------------


class Endless:
    """A node whose subscriptions always have another message, which `make(number)` returns."""

    publishers: tuple[()] = ()

    def __init__(self, make: Any) -> None:
        self.taken, self._make = 0, make
        self.handle = SimpleNamespace(take_message=self._take)

    def poll(self, *_: Any) -> Endless:
        return self

    def count_publishers(self, topic: str) -> int:
        return topic == "/tf"

    def _take(self, *_: Any) -> tuple[bytes, None]:
        self.taken += 1
        return bytes(serialize_message(self._make(self.taken))), None


def transform(number: int) -> TFMessage:
    header = Header(frame_id=f"frame_{number - 1}", stamp=Time())
    return TFMessage(transforms=[TransformStamped(header=header, child_frame_id=f"frame_{number}")])


def test_requests_that_come_without_end_are_taken_some_in_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = import_module("fleet_sim.warehouse.rmf.topics")  # needs the messages of Open-RMF
    node, commands, refused = Endless(lambda number: String(data="x" * (200 * (number == 3)))), [], []
    gateway = SimpleNamespace(take=lambda what, make: commands.append(make()))
    bridge: Any = SimpleNamespace(node=node, gateway=gateway, reject=lambda what, reason: refused.append(str(reason)))
    topic = inbox.RequestTopic(bridge, String, "requests", lambda message: Stop(source=message.data))
    monkeypatch.setattr(inbox, "LARGEST", 100)
    topic.receive()
    assert (len(commands), node.taken) == (inbox.MOST - 1, inbox.MOST)
    assert refused == ["209 bytes, at most 100 are read"]


def test_frames_that_come_without_end_are_taken_some_at_once_and_kept_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, refused = Endless(transform), []
    some: Any = node
    listener = TfListener(some, lambda name: False, lambda what, reason: refused.append(str(reason)))
    monkeypatch.setattr(tf_listener, "MOST_FRAMES", 1500)
    listener.listen()
    assert node.taken == tf_listener.MOST_AT_ONCE and not refused
    listener.listen()
    assert len(listener.frames) == 1501 and len(refused) == 500
    assert listener.link("frame_7") is not None, "those that are known go on"


def test_requests_that_wait_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interface, "MOST_BYTES", 10_000)
    served, refused = [], []
    some: Any = SimpleNamespace(
        create_service=lambda kind, name, answer, **_: served.append(answer),
        create_subscription=lambda kind, name, hear, *_, **__: served.append(hear),
        in_line=lambda name, work: work,
        reject=lambda name, reason: refused.append(name),
    )
    bridge = interface.Bridge(some, some, some, some, some, some, some, some, some, some, "", ())

    class Wait:
        def __await__(self) -> Any:
            yield

    async def callback(*_: Any) -> Any:
        await Wait()
        return SetParameters.Response()

    bridge.serve(SetParameters, "service", callback)
    bridge.subscribe(String, "topic", callback, some)
    texts = [Parameter(name="x" * 3000)]
    request, message = SetParameters.Request(parameters=texts), bytes(serialize_message(String(data="x" * 3000)))
    begun = [served[0](request, None), served[1](message), served[0](request, None)]
    for one in begun:
        one.send(None)
    for late in (served[0](request, None), served[1](message)):
        with pytest.raises(StopIteration):
            late.send(None)
    assert refused == ["service", "topic"]
    with pytest.raises(StopIteration):
        begun[0].send(None)
    served[0](request, None).send(None)


def test_a_chain_of_frames_without_end_is_refused() -> None:
    from fleet_sim import MultiRobotSimulationCore
    from fleet_sim.ros.transforms import Transforms
    from fleet_sim.world.commands import Frames

    some: Any = Endless(transform)
    listener = TfListener(some, lambda name: False, lambda what, reason: None)
    for _ in range(3):
        listener.listen()
    with MultiRobotSimulationCore.from_dict({"simulation": {"gui": False, "monitor": False}}) as sim:
        transforms = Transforms(sim.world, Frames("map", ""), listener)
        taken = some.taken
        with pytest.raises(InvalidValueError, match="more than 1000"):
            transforms.to_map("frame_2500", sim.world.position[:0], sim.world.orientation[:0])
        assert some.taken - taken == tf_listener.MOST_AT_ONCE, "once for all frames on the way"
