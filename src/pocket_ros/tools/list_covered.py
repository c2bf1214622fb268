"""Write docs/covered.md: the public modules of rclpy, launch and tf2, and what each has.

python tools/list_covered.py            writes the page
python tools/list_covered.py --check    ends with 1 where the page is not what would be written
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pocket_ros.places import names_of_others, refused_modules, refused_names

PAGE = Path(__file__).parents[1] / "docs" / "covered.md"

# The modules that programs import from, as ROS 2 Jazzy has them; a dot is the package itself.
MODULES = {
    "rclpy": """
        . action action.client action.graph action.server callback_groups client clock clock_type
        constants context destroyable duration event_handler exceptions executors expand_topic_name
        guard_condition impl.rcutils_logger lifecycle lifecycle.managed_entity lifecycle.node
        lifecycle.publisher logging logging_service node parameter parameter_client
        parameter_event_handler parameter_service publisher qos qos_event qos_overriding_options
        serialization service service_introspection signals subscription task time time_source timer
        topic_endpoint_info topic_or_service_is_hidden type_description_service type_hash
        type_support utilities validate_full_topic_name validate_namespace validate_node_name
        validate_parameter_name validate_topic_name wait_for_message waitable""",
    "launch": """
        . actions conditions event_handlers events events.process frontend launch_description_sources
        logging logging.handlers substitutions utilities""",
    "launch_xml": ". launch_description_sources",
    "launch_yaml": ". launch_description_sources",
    "launch_ros": """
        . actions descriptions event_handlers events events.lifecycle parameter_descriptions
        substitutions utilities""",
    "launch_testing": ". actions asserts event_handlers loader markers tools util",
    "launch_testing_ros": ". tools",
    "message_filters": ".",
    "rosidl_parser": ". definition",
    "rosidl_runtime_py": ". convert get_interfaces import_message set_message utilities",
    "sensor_msgs_py": "numpy_compat point_cloud2",
    "tf2_geometry_msgs": ".",
    "tf2_py": ".",
    "tf2_ros": """. buffer buffer_client buffer_interface static_transform_broadcaster transform_broadcaster
        transform_listener""",
    "tf2_sensor_msgs": ".",
}
HEAD = """# What is covered, by module

Written by `tools/list_covered.py`. "Not covered" are names that raise NotImplementedError with their name
when they are used or imported. The README says what of a covered name differs from ROS.
"""


def covered(module: ModuleType) -> list[str]:
    """The public names that a module has: those it lists, or else those it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    others = names_of_others(module.__name__.removeprefix("pocket_ros."))
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name not in others
        and name != "TYPE_CHECKING"
        and not inspect.ismodule(value)
        and (getattr(value, "__module__", None) == module.__name__ or name.isupper())
    )


def lines() -> Iterator[str]:
    """The page, without line ends."""
    yield from HEAD.splitlines()
    for package, modules in MODULES.items():
        yield ""
        yield f"## {package}"
        yield ""
        yield "| module | covered | not covered |"
        yield "|---|---|---|"
        listed = [package if part == "." else f"{package}.{part}" for part in modules.split()]
        for name in listed + [name for name in refused_modules(package) if name not in listed]:
            module = import_module(name)
            cells = (", ".join(f"`{n}`" for n in found) for found in (covered(module), refused_names(name)))
            yield f"| `{name}` | {' | '.join(cells)} |"


def main() -> int:
    """Write or check the page; the exit code."""
    text = "\n".join(lines()) + "\n"
    if "--check" in sys.argv[1:]:
        if PAGE.is_file() and PAGE.read_text() == text:
            return 0
        print(f"{PAGE} is not what tools/list_covered.py writes: run it without --check")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
