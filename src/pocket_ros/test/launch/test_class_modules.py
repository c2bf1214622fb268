"""Classes of launch in modules of their own."""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("package", "module", "names"),
    [
        ("actions", "set_environment_variable", ["SetEnvironmentVariable"]),
        ("actions", "opaque_function", ["OpaqueFunction"]),
        ("actions", "register_event_handler", ["RegisterEventHandler"]),
        ("actions", "execute_process", ["ExecuteProcess"]),
        ("conditions", "unless_condition", ["UnlessCondition"]),
        ("substitutions", "path_join_substitution", ["PathJoinSubstitution"]),
        ("substitutions", "this_launch_file_dir", ["ThisLaunchFileDir"]),
        ("substitutions", "find_executable", ["FindExecutable"]),
        ("substitutions", "boolean_substitution", ["AndSubstitution", "NotSubstitution"]),
        ("events", "shutdown", ["Shutdown"]),
        ("events", "matchers", ["matches_action"]),
        ("events.process", "process_exited", ["ProcessExited"]),
        ("events.process", "process_io", ["ProcessIO"]),
        ("events.process", "process_matchers", ["matches_pid"]),
        ("launch_description_sources", "python_launch_file_utilities", ["load_python_launch_file_as_module"]),
    ],
)
def test_a_class_is_in_the_module_of_its_name(package: str, module: str, names: list[str]) -> None:
    place = import_module(f"launch.{package}.{module}")
    assert place is import_module(f"pocket_ros.launch.{package}.{module}")
    for name in names:
        assert getattr(place, name) is getattr(import_module(f"launch.{package}"), name)
