"""Publishes `hello <n>` on `chatter` ten times a second, until it is told to stop."""

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String


class Talker(Node):
    def __init__(self) -> None:
        super().__init__("talker")
        self.publisher = self.create_publisher(String, "chatter", 10)
        self.count = 0
        self.create_timer(0.02, self.say)

    def say(self) -> None:
        self.count += 1
        if self.count == 1:
            print("spinning", flush=True)
        self.publisher.publish(String(data=f"hello {self.count}"))


def main() -> None:
    rclpy.init()
    node = Talker()
    try:
        print("ready", flush=True)
        rclpy.spin(node)
        print("shut down", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except ExternalShutdownException:
        print("shut down", flush=True)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


main()
