"""Launches as fixtures of pytest, which are not covered: `launch_testing` is."""


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"launch_pytest.{name} is not covered by pocket_ros, launch_testing is; a full ROS 2 has it"
    )
