"""A managed node that does not let itself be activated."""

import rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn


class Managed(LifecycleNode):
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        return TransitionCallbackReturn.FAILURE


with rclpy.init():
    node = Managed("managed")
    print("ready", flush=True)
    rclpy.spin(node)
