"""Simulations in namespaces of their own: what is apart, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")

from geometry_msgs.msg import TwistStamped
from heard_node import heard_node
from ros_domain import use_own_domain

from fleet_sim_msgs.action import MoveTo

use_own_domain()


@holds("api:RosParams.map_frame", fault="world/names.py: the map in the namespace")
@pytest.mark.parametrize("frame", ["map", "left/map"])
def test_the_map_is_shared_unless_it_is_named(tmp_path: Path, frame: str) -> None:
    scenario: dict[str, Any] = {
        "simulation": {"gui": False, "timestep": 0.05},
        "robots": [{"name": "cart", "pose": [1.3, -0.4, 0.1, 0.7], "shape": {"shape_type": "sphere", "radius": 0.1}}],
        "ros": {"rates": {"clock": None, "tf": None, "fleet_states": None}, "groups": ["actions", "state", "commands"]}
        | {"cmd_vel_type": "twist_stamped"},
    }
    if frame != "map":
        scenario["ros"]["map_frame"] = frame
    with heard_node(tmp_path, scenario, "-r", "__ns:=/left") as heard:
        heard.step(3)
        own = [
            name
            for name in heard.kinds
            if name not in ("/tf", "/tf_static", "/diagnostics", "/rosout", "/parameter_events")
        ]
        assert own and all(name.startswith("/left/") for name in own)
        transforms = [
            one for topic in ("/tf", "/tf_static") for message in heard.heard[topic] for one in message.transforms
        ]
        assert {(one.header.frame_id, one.child_frame_id) for one in transforms} == {
            (frame, "left/cart/odom"),
            ("left/cart/odom", "left/cart/base_link"),
        }
        assert heard.heard["/left/fleet/states"][-1].header.frame_id == frame
        # A velocity is in the frame of its robot, whoever names that; in no other one does it move anything.
        publisher = heard.listener.create_publisher(TwistStamped, "/left/cart/cmd_vel", 10)
        heard.until(publisher.get_subscription_count)
        command, cart = TwistStamped(), heard.sim.get_object("cart")
        command.twist.linear.x = 0.3
        for own, moves in ((frame, False), ("left/cart/odom", False), ("left/cart/base_link", True), ("", True)):
            command.header.frame_id = own
            before = cart.get_pose()
            publisher.publish(command)
            heard.step(12)
            assert (cart.get_pose() != before) is moves, own
            cart.stop()
        goal = MoveTo.Goal()
        goal.pose.header.frame_id = frame
        goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.position.z = 1.5, -0.6, 0.1
        assert heard.send_goal(MoveTo, "/left/cart/move_to", goal).result.success
        assert heard.sim.get_object("cart").position == pytest.approx([1.5, -0.6, 0.1])
