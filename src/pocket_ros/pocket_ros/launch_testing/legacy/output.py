"""Checks of output as they were before, which are not covered."""


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"launch_testing.legacy.output.{name} is not covered by pocket_ros; a full ROS 2 has it"
    )
