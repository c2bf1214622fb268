"""Finds the mesh files that a robot description refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet_sim.base.errors import did_you_mean
from fleet_sim.base.files import expanded, folders_in, is_file, names_in, package_name
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes.formats import FORMATS, MeshLimits

_RESOURCE_VARIABLES = ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "ROS_PACKAGE_PATH")


class MeshFinder:
    """Finds the mesh files of one description file."""

    def __init__(self, source: Path, search_paths: Sequence[Path] = (), limits: MeshLimits | None = None) -> None:
        self._source = source
        self._search_paths = tuple(search_paths)
        self._limits = limits or MeshLimits()
        self._found: dict[str, str] = {}

    def find(self, element: Element, name: str) -> str:
        """Return the absolute path of the mesh `name`: a path, or file://, package:// or model://.

        Raises InvalidValueError naming `element` and every place searched if the mesh is missing, is of no format in
        FORMATS, or exceeds the limits.
        """
        # One mesh is often named many times, and each search may touch dozens of folders.
        path = self._found.get(name)
        if path is None:
            path = self._found[name] = self._locate(element, name)
        return path

    def _locate(self, element: Element, name: str) -> str:
        """Return the path of a mesh; raises an error with the line, near names and the folders that were searched."""
        suffix = Path(name).suffix.lower()
        if suffix not in FORMATS:
            raise element.error(f"the mesh {name!r} must be one of {', '.join(FORMATS)}")
        found = self.look(element, name)
        if found is None:
            searched = list(dict.fromkeys(self.candidates(element, name)))
            near = {name for path in searched for name in names_in(path.parent, suffix)}
            hint = did_you_mean(Path(name).name, near) if near else ""
            places = ", ".join(str(path) for path in searched[:12]) + (", ..." if len(searched) > 12 else "")
            raise element.error(f"there is no mesh {name!r}.{hint} Searched: {places}")
        fault = self._limits.fault(found)
        if fault:
            raise element.error(f"the mesh {str(found)!r} {fault}")
        return str(found)

    def look(self, element: Element, name: str) -> Path | None:
        """Return the absolute path of any file called `name`, None if there is none."""
        found = next((path for path in self.candidates(element, name) if is_file(path)), None)
        return None if found is None else found.resolve()

    def candidates(self, element: Element, name: str) -> Iterator[Path]:
        """Yield the paths where a file called `name` is searched, in order.

        Raises InvalidValueError for a name with an unsupported scheme.
        """
        scheme, mark, rest = name.partition("://")
        if not mark:
            path = expanded(name)
            if path.is_absolute():
                yield path
                # In some files a leading slash means the file's own folder.
                path = path.relative_to(path.anchor)
            # PyBullet searches all folders above the file too; the search paths are an addition of ours.
            yield from (folder / path for folder in (*self._source.parents, *self._search_paths))
        elif scheme == "file":
            yield self._source.parent / rest
        elif scheme in ("package", "model"):
            yield from self.in_packages(rest)
        else:
            raise element.error(
                f"the file {name!r} must be a path, or begin with file://, package:// or model://; "
                "fetch other files first"
            )

    def in_packages(self, rest: str) -> Iterator[Path]:
        """Yield the paths where `package/file` is searched, in order."""
        package, _, inside = rest.partition("/")
        yield from (folder / inside for folder in self._package_folders(package))

    def _package_folders(self, package: str) -> Iterator[Path]:
        """Yield the folders that may be the package of that name."""
        above = self._source.parents
        yield from (folder / package for folder in above)
        yield from (folder for folder in above if package_name(folder) == package)
        for folder in self._search_paths:
            yield folder / package
            if folder.name == package or package_name(folder) == package:
                yield folder
        for prefix in folders_in("AMENT_PREFIX_PATH"):
            yield prefix / "share" / package
        for variable in _RESOURCE_VARIABLES:
            for folder in folders_in(variable):
                yield folder / package
                yield from (folder,) * (folder.name == package)


def in_packages(name: str, search_paths: Sequence[Path]) -> Iterator[Path]:
    """Return the paths where the file of a package:// or model:// URI is searched, in order."""
    # Of no file: there are no folders above it.
    return MeshFinder(Path("/"), search_paths).in_packages(name.partition("://")[2])


def seen_by_pybullet(source: Path, name: str) -> str:
    """Return the file that PyBullet uses for `name` in the description file `source`, "" if it finds none.

    PyBullet drops the scheme of a name but keeps its package, and searches the folders above the file.
    """
    rest = Path(name.partition("://")[2] or name)
    if rest.is_absolute():
        return str(rest.resolve()) if is_file(rest) else ""
    places = (folder / rest for folder in source.parents)
    return next((str(place.resolve()) for place in places if is_file(place)), "")


def in_installed_package(name: str, place: Path) -> bool:
    """Return whether `name` is a package:// URI that resolves to `place` in the ROS installation."""
    scheme, _, rest = name.partition("://")
    package = rest.partition("/")[0]
    shares = [(prefix / "share" / package).resolve() for prefix in folders_in("AMENT_PREFIX_PATH")]
    return scheme == "package" and any(share in place.parents for share in shares)
