"""Tests as they were written before `launch_test`, which are not covered."""


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"launch_testing.legacy.{name} is not covered by pocket_ros; a full ROS 2 has it"
    )
