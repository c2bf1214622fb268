"""Help for launch tests of nodes."""

from .wait_for_topics import WaitForTopics

__all__ = ["WaitForTopics"]


def __getattr__(name: str) -> object:
    if name in ("DataRepublisher", "LaunchTestRunner", "MessagePump"):
        raise NotImplementedError(
            f"launch_testing_ros.{name} is not covered by pocket_ros; a full ROS 2 has it"
        )
    raise AttributeError(f"module 'launch_testing_ros' has no attribute '{name}'")
