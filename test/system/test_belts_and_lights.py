"""Conveyors and lights on ROS: they do what is sent, and tell what they do."""

from __future__ import annotations

from pathlib import Path

import yaml
from node_program import running
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import ColorRGBA, Float64
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05},
    "objects": [
        {
            "name": "belt",
            "pose": [0, 0, 0.25],
            "shape": {"shape_type": "box", "half_extents": [1, 0.3, 0.25]},
            "conveyor": {"speed": 0.25},
        },
        {
            "name": "lamp",
            "pose": [0, 2, 0.5],
            "shape": {"shape_type": "cylinder", "radius": 0.05, "height": 1},
            "light": {"color": [1, 0, 0], "lit": False},
        },
    ],
}


def test_belts_and_lights_do_what_is_sent(tmp_path: Path) -> None:
    (tmp_path / "belt.yaml").write_text(yaml.safe_dump(SCENARIO))
    with running(tmp_path / "node.log", "-p", f"config:={tmp_path / 'belt.yaml'}") as (process, client):
        speeds = client.listen(Float64, "/belt/speed", LATCHED)
        colors = client.listen(ColorRGBA, "/lamp/light", LATCHED)
        client.until(lambda: speeds and colors, "what they do at first")
        assert [one.data for one in speeds] == [0.25] and colors == [ColorRGBA(r=1.0, a=0.0)]
        client.publisher(Float64, "/belt/set_speed").publish(Float64(data=-0.5))
        client.until(lambda: speeds[-1].data == -0.5, "the speed")
        assert client.call(SetBool, "/belt/set_running", SetBool.Request(data=False)).success
        client.until(lambda: speeds[-1].data == 0.0, "standing")
        switch = client.publisher(ColorRGBA, "/lamp/set_light")
        switch.publish(ColorRGBA(g=1.0, a=1.0))
        client.until(lambda: colors[-1] == ColorRGBA(g=1.0, a=1.0), "green")
        switch.publish(ColorRGBA(g=1.0, a=0.5))
        client.until(lambda: "a: 1 switches it on and 0 off, got 0.5" in process.output(), "the refusal")
        switch.publish(ColorRGBA())
        client.until(lambda: colors[-1] == ColorRGBA(g=1.0, a=0.0), "dark")
        assert [one.data for one in speeds] == [0.25, -0.5, 0.0], "told once each"
