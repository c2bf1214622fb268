"""Messages that are changed on their way, and filters for what a middleware writes."""

import threading
from pathlib import Path

import pytest
import rclpy
from launch_testing_ros import DataRepublisher, MessagePump
from launch_testing_ros.tools import basic_output_filter, get_rmw_output_filter
from std_msgs.msg import Int32


@pytest.mark.usefixtures("ros")
def test_messages_are_changed_or_dropped() -> None:
    node = rclpy.create_node("between")
    odd = DataRepublisher(node, "in", "out", Int32, lambda m: Int32(data=-m.data) if m.data % 2 else None)
    out: list[int] = []
    enough = threading.Event()

    def take(message: Int32) -> None:
        out.append(message.data)
        if len(out) == 2:
            enough.set()

    node.create_subscription(Int32, "out", take, 10)
    source = node.create_publisher(Int32, "in", 10)
    pump = MessagePump(node)
    pump.start()
    for number in (1, 2, 3):
        source.publish(Int32(data=number))
    assert enough.wait(60)
    pump.stop()
    assert out == [-1, -3]
    assert (odd.get_num_received(), odd.get_num_republished()) == (3, 2)
    assert odd.get_republished() == [Int32(data=-1), Int32(data=-3)]
    odd.shutdown()
    assert len(list(node.subscriptions)) == 1


def test_a_middleware_lists_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, line in (("prefixes", "DDS:"), ("patterns", r"\[\d+\]")):
        folder = tmp_path / "share" / "ament_index" / "resource_index" / f"rmw_output_{kind}"
        folder.mkdir(parents=True)
        (folder / "rmw_talkative").write_text(line)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    text = "pid 3\nDDS: hello\n[12] hello\nhello\n"
    assert basic_output_filter(filtered_rmw_implementation="rmw_talkative")(text) == "hello\n"
    assert basic_output_filter()(text) == text.split("\n", 1)[1]
    assert get_rmw_output_filter("rmw_quiet", "prefixes") == []
    with pytest.raises(TypeError, match="prefixes, patterns"):
        get_rmw_output_filter("rmw_quiet", "lines")
