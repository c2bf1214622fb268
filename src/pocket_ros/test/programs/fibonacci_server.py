"""The Fibonacci action: rejects orders above 50, fails at order 13, can be cancelled."""

import threading

import rclpy
from example_interfaces.action import Fibonacci
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node

rclpy.init()
node = Node("fibonacci_server")
pause = threading.Event()


def accept(goal: Fibonacci.Goal) -> GoalResponse:
    return GoalResponse.ACCEPT if goal.order <= 50 else GoalResponse.REJECT


def execute(goal_handle) -> Fibonacci.Result:  # type: ignore[no-untyped-def]
    numbers = [0, 1]
    for i in range(1, goal_handle.request.order):
        if goal_handle.is_cancel_requested:
            goal_handle.canceled()
            return Fibonacci.Result(sequence=numbers)
        numbers.append(numbers[i] + numbers[i - 1])
        goal_handle.publish_feedback(Fibonacci.Feedback(sequence=numbers))
        pause.wait(0.01)
    if goal_handle.request.order == 13:
        raise ValueError("thirteen")
    goal_handle.succeed()
    return Fibonacci.Result(sequence=numbers)


server = ActionServer(
    node,
    Fibonacci,
    "fibonacci",
    execute,
    goal_callback=accept,
    cancel_callback=lambda goal_handle: CancelResponse.ACCEPT,
)
print("ready", flush=True)
rclpy.spin(node, MultiThreadedExecutor())
