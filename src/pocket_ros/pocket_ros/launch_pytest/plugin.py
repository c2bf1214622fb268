"""The plugin of pytest, which is not covered."""


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"launch_pytest.plugin.{name} is not covered by pocket_ros, launch_testing is; a full ROS 2 has it"
    )
