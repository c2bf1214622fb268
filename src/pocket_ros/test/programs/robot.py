"""A node with some of everything the `ros2` command looks at, until it is told to stop."""

import time

import rclpy
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from geometry_msgs.msg import PointStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from std_msgs.msg import Int32MultiArray, String


class Robot(Node):
    def __init__(self) -> None:
        super().__init__("robot", namespace="fleet")
        self.declare_parameter("rate", 2.5)
        self.declare_parameter("names", ["a", "b"])
        self.declare_parameter("arm.ready", True)
        self.point = self.create_publisher(PointStamped, "point", 10)
        self.numbers = self.create_publisher(Int32MultiArray, "numbers", 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.description = self.create_publisher(String, "description", latched)
        self.description.publish(String(data="a robot"))
        self.create_subscription(
            String, "say", lambda message: print(f"heard {message.data}", flush=True), 10
        )
        adder = self.create_service(AddTwoInts, "add", self.add)
        adder.configure_introspection(
            self.get_clock(), QoSProfile(depth=10), ServiceIntrospectionState.CONTENTS
        )
        group = ReentrantCallbackGroup()
        self.server = ActionServer(
            self,
            Fibonacci,
            "count",
            self.count,
            goal_callback=lambda goal: GoalResponse.ACCEPT if goal.order >= 0 else GoalResponse.REJECT,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=group,
        )
        self.create_timer(0.05, self.publish)

    def publish(self) -> None:
        message = PointStamped()
        message.header.frame_id = "map"
        message.header.stamp = self.get_clock().now().to_msg()
        message.point.x = 1.5
        self.point.publish(message)
        self.numbers.publish(Int32MultiArray(data=list(range(200))))

    def add(self, request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
        response.sum = request.a + request.b
        return response

    def count(self, goal: object) -> Fibonacci.Result:
        """Counts to the order; an order of 1000 and more goes on until it is cancelled."""
        sequence = [0]
        while sequence[-1] < goal.request.order or goal.request.order >= 1000:  # type: ignore[attr-defined]
            if goal.is_cancel_requested:  # type: ignore[attr-defined]
                goal.canceled()  # type: ignore[attr-defined]
                print("cancelled", flush=True)
                return Fibonacci.Result(sequence=sequence)
            sequence.append(sequence[-1] + 1)
            goal.publish_feedback(Fibonacci.Feedback(sequence=sequence[-3:]))  # type: ignore[attr-defined]
            time.sleep(0.01)
        goal.succeed()  # type: ignore[attr-defined]
        return Fibonacci.Result(sequence=sequence)


def main() -> None:
    rclpy.init()
    node = Robot()
    executor = MultiThreadedExecutor(num_threads=3)
    executor.add_node(node)
    print("ready", flush=True)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        print("stopped", flush=True)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


main()
