"""Where packages are installed."""

import os
import pathlib
import re
import warnings

from .bundled import find_bundled
from .checkouts import find_checkouts
from .resources import find_installed, list_installed
from .search_paths import get_search_paths

_VALID_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]+", re.ASCII)


class PackageNotFoundError(KeyError):
    """No prefix and no source checkout has the package, and pocket_ros does not bring it along."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def get_packages_with_prefixes() -> dict[str, str]:
    """Package name to prefix: installed packages, then source checkouts, then those of pocket_ros."""
    return {**find_bundled(), **find_checkouts(), **list_installed("packages")}


def _locate(package_name: str) -> tuple[str, str]:
    if _VALID_NAME.fullmatch(package_name) is None:
        raise ValueError(f"'{package_name}' is not a valid package name")
    prefix = find_installed("packages", package_name)
    if prefix is not False:
        return prefix, os.path.join(prefix, "share", package_name)
    source = find_checkouts().get(package_name)
    if source is None:
        source = find_bundled().get(package_name)
    if source is not None:
        return source, source
    raise PackageNotFoundError(f"package '{package_name}' not found, searching: {get_search_paths()}")


def get_package_prefix(package_name: str) -> str:
    """The installation prefix of a package.

    For a source checkout the folder of its `package.xml`; for a package of pocket_ros, its folder there.

    Raises PackageNotFoundError when it is nowhere, ValueError for a name no package can have.
    """
    return _locate(package_name)[0]


def get_package_share_directory(package_name: str, print_warning: bool = True) -> str:
    """The share directory of a package; for a source checkout and for packages of pocket_ros, their folder.

    Warns when the directory does not exist, unless `print_warning` is False. Raises as `get_package_prefix`
    does.
    """
    path = _locate(package_name)[1]
    if print_warning and not os.path.exists(path):
        warnings.warn(f"Share directory for {package_name} ({path}) does not exist.", stacklevel=2)
    return path


def get_package_share_path(package_name: str, print_warning: bool = True) -> pathlib.Path:
    """`get_package_share_directory` as a Path."""
    path = pathlib.Path(get_package_share_directory(package_name, print_warning=False))
    if print_warning and not path.exists():
        warnings.warn(f"Share path for {package_name} ({path}) does not exist.", stacklevel=2)
    return path
