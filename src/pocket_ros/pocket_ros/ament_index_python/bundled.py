"""The packages that pocket_ros itself is: their folders serve as prefix and as share directory.

A folder of definitions has `msg`, `srv` and `action` below it, as the share directory of a package has.
"""

from functools import cache
from pathlib import Path

_HOME = Path(__file__).parents[1]
_PRIVATE = frozenset({"dds", "interfaces"})  # no packages of ROS


@cache
def find_bundled() -> dict[str, str]:
    """Name to folder, of the libraries and of the interface packages."""
    libraries = {path.parent for path in _HOME.glob("*/__init__.py") if path.parent.name not in _PRIVATE}
    interfaces = {path for path in (_HOME / "interfaces" / "definitions").iterdir() if path.is_dir()}
    return {path.name: str(path) for path in libraries | interfaces}
