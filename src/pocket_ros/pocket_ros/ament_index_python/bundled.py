"""The packages that pocket_ros itself is: their folders serve as prefix and as share directory.

A folder of definitions has `msg`, `srv` and `action` below it, as the share directory of a package has.
"""

from functools import cache
from pathlib import Path

_HOME = Path(__file__).parents[1]
_DEFINITIONS = _HOME / "interfaces" / "definitions"
_PRIVATE = frozenset({"dds", "interfaces"})  # no packages of ROS


@cache
def find_bundled() -> dict[str, str]:
    """Name to folder, of the libraries and of the interface packages."""
    libraries = {path.parent for path in _HOME.glob("*/__init__.py") if path.parent.name not in _PRIVATE}
    interfaces = {path for path in _DEFINITIONS.iterdir() if path.is_dir()}
    return {path.name: str(path) for path in libraries | interfaces}


def find_bundled_resources(resource_type: str) -> dict[str, str]:
    """Name to content, as installing the packages would register them; empty for other types than two.

    `packages` has no content, `rosidl_interfaces` a line for each definition: `msg/String.msg`.
    """
    if resource_type == "packages":
        return dict.fromkeys(find_bundled(), "")
    if resource_type != "rosidl_interfaces":
        return {}
    folders = {name: Path(folder) for name, folder in find_bundled().items()}
    return {
        name: "\n".join(sorted(f"{path.parent.name}/{path.name}" for path in folder.glob("*/*")))
        for name, folder in folders.items()
        if folder.parent == _DEFINITIONS
    }
