"""The import finder that gives `rclpy`, `launch`, `std_msgs` and the rest to programs where no ROS 2 is
installed.

Guarantees: a real module anywhere on the path wins, whichever is imported first; `rclpy.x` and
`pocket_ros.rclpy.x` are one module object; nothing but this file is read at interpreter start.

`LastFinder` is last on `sys.meta_path` and decides who owns a top-level name. `PathGuard` is first, because
the path finder would otherwise get two questions wrong: a plain folder called `launch` (most ROS packages
have one), or the folder of an interface package where `src` is on the path, would become a namespace package,
and a submodule of an aliased package would be loaded a second time under its public name.
"""

import sys

TYPE_CHECKING = False  # as in `typing`, which would cost every interpreter start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

SWITCH = "POCKET_ROS_DISABLE"

LIBRARIES = frozenset(
    {
        "ament_index_python",
        "launch",
        "launch_ros",
        "launch_testing",
        "launch_testing_ros",
        "launch_xml",
        "launch_yaml",
        "message_filters",
        "rclpy",
        "ros2cli",
        "rosidl_parser",
        "rosidl_runtime_py",
        "sensor_msgs_py",
        "tf2_geometry_msgs",
        "tf2_py",
        "tf2_ros",
        "tf2_sensor_msgs",
    }
)
INTERFACE_PACKAGES = frozenset(
    {
        "action_msgs",
        "action_tutorials_interfaces",
        "actionlib_msgs",
        "builtin_interfaces",
        "composition_interfaces",
        "control_msgs",
        "diagnostic_msgs",
        "example_interfaces",
        "geographic_msgs",
        "geometry_msgs",
        "lifecycle_msgs",
        "nav2_msgs",
        "nav_msgs",
        "rcl_interfaces",
        "rmf_building_map_msgs",
        "rmf_charger_msgs",
        "rmf_dispenser_msgs",
        "rmf_door_msgs",
        "rmf_fleet_msgs",
        "rmf_ingestor_msgs",
        "rmf_lift_msgs",
        "rmw_dds_common",
        "rosbag2_interfaces",
        "rosgraph_msgs",
        "sensor_msgs",
        "service_msgs",
        "shape_msgs",
        "simulation_interfaces",
        "statistics_msgs",
        "std_msgs",
        "std_srvs",
        "stereo_msgs",
        "tf2_msgs",
        "trajectory_msgs",
        "type_description_interfaces",
        "unique_identifier_msgs",
        "visualization_msgs",
    }
)

_INTERFACE_ENDINGS = ("_msgs", "_interfaces", "_srvs", "_actions")

_given_out: "dict[str, str]" = {}  # public top-level name to the module inside pocket_ros that it stands for


class AliasLoader:
    """Loads a public name by importing its module inside pocket_ros; both names are then the same object."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: "ModuleSpec") -> "ModuleType":
        from importlib import import_module

        module = import_module(self.target)
        if "." not in spec.name:
            _given_out[spec.name] = self.target
        if hasattr(module, "__path__"):
            # What was imported with it is given its public name now. Imported under that name later, a module
            # would take the place of a function of its name in the package, as of `launch_pytest.fixture`.
            for name, loaded in list(sys.modules.items()):
                if name.startswith(f"{self.target}."):
                    sys.modules.setdefault(spec.name + name[len(self.target) :], loaded)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: "ModuleType") -> None:
        """Nothing to run, but the import system has just put the alias's spec on the module: take it back."""
        module.__spec__ = self._spec

    def get_code(self, fullname: str) -> "CodeType | None":
        """For `python -m <public name>`."""
        from importlib.util import find_spec

        spec = find_spec(self.target)
        loader = spec.loader if spec is not None else None
        get_code: Any = getattr(loader, "get_code", None)
        code: CodeType | None = None if get_code is None else get_code(self.target)
        return code


def _alias(fullname: str, target: str) -> "ModuleSpec | None":
    """The spec that loads `target` under `fullname`, or None where there is no such module."""
    from importlib.machinery import ModuleSpec
    from importlib.util import find_spec

    module = sys.modules.get(target)
    if module is None:
        found = find_spec(target)
        if found is None:
            return None
        is_package, origin = found.submodule_search_locations is not None, found.origin
    else:
        is_package, origin = hasattr(module, "__path__"), getattr(module, "__file__", None)
    return ModuleSpec(fullname, AliasLoader(target), origin=origin, is_package=is_package)  # type: ignore[arg-type]


def _elsewhere(fullname: str, path: "Sequence[str] | None") -> "ModuleSpec | None":
    """What the finders that are not ours say, a bare folder not counting as a package."""
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if find is None or finder is LAST or finder is GUARD:
            continue
        spec: ModuleSpec | None = find(fullname, path, None)
        if spec is not None and not _is_bare_folder(spec):
            return spec
    return None


def _is_bare_folder(spec: "ModuleSpec") -> bool:
    return spec.loader is None or type(spec.loader).__name__.lstrip("_") == "NamespaceLoader"


def _target(name: str) -> str | None:
    """The module inside pocket_ros that stands for a top-level name."""
    if name in LIBRARIES:
        return f"pocket_ros.{name}"
    if name in INTERFACE_PACKAGES or _is_installed_interface_package(name):
        return f"pocket_ros.interfaces.packages.{name}"
    return None


def _is_installed_interface_package(name: str) -> bool:
    """Whether the ament index has a package of that name with interface definitions.

    Source checkouts are searched only for names that end as interface packages do: this runs for every
    failed import of a program, and the search for checkouts is not free.
    """
    import os

    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    folders = [os.path.join(prefix, "share", name) for prefix in [*prefixes, sys.prefix] if prefix]
    if name.endswith(_INTERFACE_ENDINGS):
        from contextlib import suppress

        from pocket_ros.ament_index_python import PackageNotFoundError, get_package_share_directory

        with suppress(PackageNotFoundError):
            folders.append(get_package_share_directory(name, print_warning=False))
    return any(os.path.isdir(os.path.join(f, kind)) for f in folders for kind in ("msg", "srv", "action"))


class PathGuard:
    """First on `sys.meta_path`; answers only for names that are ours and that the path finder would
    get wrong.
    """

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        top, dot, rest = fullname.partition(".")
        if dot:
            inside = _given_out.get(top)
            if inside is None or sys.modules.get(top) is not sys.modules.get(inside):
                return None
            return _alias(fullname, f"{inside}.{rest}")
        if top in LIBRARIES or top in INTERFACE_PACKAGES or top.endswith(_INTERFACE_ENDINGS):
            return _elsewhere(fullname, path) or LAST.find_spec(fullname, path)
        return None


class PlaceLoader:
    """Loads a module of upstream's that has no file here: what it has is in another, or refused by name."""

    def __init__(self, public_name: str) -> None:
        self._public_name = public_name

    def create_module(self, spec: "ModuleSpec") -> None:
        """The import system makes a plain module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Let the names of upstream's module be found."""
        from pocket_ros.places import fill

        fill(module, self._public_name)


def _without_file(fullname: str) -> "ModuleSpec | None":
    """The spec of a module inside pocket_ros that has no file, where upstream has one; None for others."""
    from importlib.machinery import ModuleSpec

    from pocket_ros.places import has_place

    public_name = fullname.removeprefix("pocket_ros.")
    if not has_place(public_name):
        return None
    return ModuleSpec(fullname, PlaceLoader(public_name), is_package=True)  # type: ignore[arg-type]


class LastFinder:
    """Last on `sys.meta_path`: top-level names nobody else has, and modules that have no file."""

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if "." in fullname:
            return _without_file(fullname) if fullname.startswith("pocket_ros.") else None
        inside = _target(fullname)
        if inside is None:
            return None
        # Finders of editable installs append themselves after this one: they are asked first all the same.
        return _elsewhere(fullname, path) or _alias(fullname, inside)


LAST = LastFinder()
GUARD = PathGuard()


def stand_first() -> None:
    """Put the guard in front of finders that were put in front of it, as pytest does with its own."""
    if GUARD in sys.meta_path:
        sys.meta_path.remove(GUARD)
        sys.meta_path.insert(0, GUARD)


def register() -> None:
    """Put both finders in place; doing so twice changes nothing.

    With POCKET_ROS_DISABLE in the environment, neither empty nor 0, this does nothing: no name is taken,
    an interpreter is as if pocket_ros were not installed. `pocket_ros` itself can still be imported.
    """
    # `os` is there already, `site` has imported it: the look-up costs less than a microsecond.
    from os import environ

    if environ.get(SWITCH, "") not in ("", "0"):
        return
    if LAST not in sys.meta_path:
        sys.meta_path.append(LAST)
        sys.meta_path.insert(0, GUARD)
