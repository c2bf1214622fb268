#!/usr/bin/env python3
"""Empties a bin using only ROS 2 interfaces: lists the parts, then picks and drops them one by one.

Start `ros2 launch fleet_sim bin_picking.launch.py`, then `python examples/bin_picker.py`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node

from fleet_sim_msgs.action import Drop, Execute, Pick
from fleet_sim_msgs.srv import List

HAND = "panda_grasptarget"
ABOVE = 0.16
"""Height in m at which the hand moves between the bins."""
DOWN = [1.0, 0.0, 0.0, 0.0]
"""Orientation of a hand that points straight down."""
BIN = (0.46, 0.26)
"""Drop position of the first part; the others follow in rows of three."""


class BinPicker(Node):
    """A client of the panda's actions."""

    def __init__(self) -> None:
        super().__init__("bin_picker")
        self._list = self.create_client(List, "/sim/list")
        self._actions = {
            kind: ActionClient(self, kind, f"/panda/{name}")
            for kind, name in ((Execute, "execute"), (Pick, "pick"), (Drop, "drop"))
        }

    def wait(self) -> None:
        """Wait for the simulation."""
        self._list.wait_for_service()
        for client in self._actions.values():
            client.wait_for_server()

    def parts(self) -> dict[str, tuple[float, float, float]]:
        """Return the positions of the parts by name."""
        future = self._list.call_async(List.Request(kind=List.Request.OBJECTS))
        rclpy.spin_until_future_complete(self, future)
        found = future.result()
        places = [(pose.position.x, pose.position.y, pose.position.z) for pose in found.poses]
        return dict(sorted(zip(found.names, places, strict=True)))

    def run(self, goal: Any) -> None:
        """Send a goal and wait for its result; raises RuntimeError with the cause if it fails."""
        client = self._actions[next(kind for kind in self._actions if isinstance(goal, kind.Goal))]
        sent = client.send_goal_async(goal)
        rclpy.spin_until_future_complete(self, sent)
        if not sent.result().accepted:
            raise RuntimeError(f"{goal} was rejected")
        done = sent.result().get_result_async()
        rclpy.spin_until_future_complete(self, done)
        result = done.result().result
        if not result.success:
            raise RuntimeError(result.text)

    def hover(self, x: float, y: float) -> None:
        """Move the hand above a position."""
        pose = {"target_position": [x, y, ABOVE], "target_orientation": DOWN, "end_effector_link": HAND}
        self.run(Execute.Goal(action="pose", parameters=json.dumps(pose)))

    def bring(self, part: str, place: tuple[float, float, float], to: tuple[float, float]) -> None:
        """Pick a part and drop it elsewhere, approaching from above both times."""
        pick = Pick.Goal(object=part, use_approach=False, use_arm=True, use_ee_orientation=True, ee_link=HAND)
        drop = Drop.Goal(use_approach=False, use_arm=True, use_ee_orientation=True, ee_link=HAND)
        for target in (pick.ee_target.pose.orientation, drop.ee_target.pose.orientation):
            target.x, target.w = 1.0, 0.0
        drop.pose.pose.position.x, drop.pose.pose.position.y = to
        drop.pose.pose.position.z = 0.03
        self.hover(place[0], place[1])
        self.run(pick)
        self.hover(place[0], place[1])
        self.hover(*to)
        self.run(drop)
        self.hover(*to)


def main() -> int:
    """Empty the bin and print the progress."""
    rclpy.init()
    node = BinPicker()
    try:
        node.wait()
        parts = node.parts()
        for index, (part, place) in enumerate(parts.items()):
            to = (BIN[0] + 0.04 * (index % 3), BIN[1] + 0.06 * (index // 3))
            node.bring(part, place, to)
            print(f"{part}: from ({place[0]:.2f}, {place[1]:.2f}) to ({to[0]:.2f}, {to[1]:.2f})", flush=True)
        print(f"{len(parts)} parts brought over")
    except KeyboardInterrupt:
        return 130
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
