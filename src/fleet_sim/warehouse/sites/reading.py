"""Reads a site from any file of a known format."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from fleet_sim.base import files
from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError, brief
from fleet_sim.base.files import is_file, resolve_config
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.base.settings import load_mapping
from fleet_sim.warehouse.sites.site import Site

# SiteFormat: a file format that sites are read from, and the tools that readers share.


log = logging.getLogger(__name__)

LARGEST_FILE = 64_000_000
"""Bytes of a file that is read."""


class SiteFormat(ABC):
    """Reads sites from files of one format; declared as an entry point of `fleet_sim.site_format`.

    A file is parsed first, by its suffix: to a mapping (.yaml, .yml, .json) or a text. Of the formats with that suffix
    the first that recognises the content reads it.
    """

    suffixes: ClassVar[tuple[str, ...]]
    doc: ClassVar[str]
    """What it is, for lists and errors."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Keys that every file of the format has."""
    has_levels: ClassVar[bool] = False
    """Whether its files may have several floors; asked for one of any other format, `read_site` refuses."""

    # By content, as several formats share an ending.
    def recognises(self, content: Any) -> bool:
        """Return whether `content` is of this format: whether it has all of `keys`."""
        return not self.keys or (isinstance(content, Mapping) and all(key in content for key in self.keys))

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return the keys of `content` that have no effect, by the place in the file that they are at.

        Whoever reads the file is told of them, as they mean something to other programs.
        """
        return {}

    @abstractmethod
    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site in `content`, which was read from `path`; raises ConfigError.

        An InvalidValueError or UnknownNameError of the site itself becomes a ConfigError that names the file.

        `level` is the floor of a building to read; None where there is only one, and for formats without `has_levels`.
        """


def read_text(path: Path) -> str:
    """Return the text in `path`; raises ConfigError."""
    # Size first: reading a huge file to find out that it is one would take all memory.
    if not is_file(path):
        fail(path, "there is no such file")
    try:
        return files.read_text(path, LARGEST_FILE)
    except InvalidValueError as error:
        raise ConfigError.of(error).within(source=str(path)) from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", source=str(path)) from error


def read_json(path: Path) -> Any:
    """Return what the JSON in `path` says; raises ConfigError."""
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not valid JSON: {str(error)[:200]}", source=str(path)) from error


def warn_of(unused: Mapping[str, Sequence[str]], path: Path) -> None:
    """Name in one warning what a file has and nothing uses, by the place in the file; see `SiteFormat.unused`."""
    if unused:
        told = "; ".join(
            f"{place}: {', '.join(names)}" if place else ", ".join(names) for place, names in unused.items()
        )
        log.warning("%s: has no effect here: %s", path, told)


def check_suffix(path: str | Path) -> None:
    """Raise InvalidValueError for a file to write that does not end in .yaml or .yml: it could not be read again."""
    if Path(path).suffix not in (".yaml", ".yml"):
        raise InvalidValueError(f"{path}: the file of a site ends in .yaml")


def fail(path: Path, message: str, key: str = "") -> NoReturn:
    """Raise ConfigError for the file `path`."""
    raise ConfigError(message, source=str(path), path=key)


def beside(path: Path, name: object, key: str) -> Path:
    """Return the file that `path` names under `key`, relative to its own folder; raises ConfigError."""
    if not isinstance(name, str) or not name:
        fail(path, f"must name a file, got {name!r}", key)
    # Relative to the file, not to where the program runs: so a site can be moved as a folder.
    found = path.parent / name
    if not is_file(found):
        fail(path, f"there is no file {str(found)!r}", key)
    return found


def list_of(entry: Mapping[str, Any], key: str, path: Path, where: str) -> list[Any]:
    """Return the list under `key`, an empty one where there is none; raises ConfigError."""
    # A missing key and an empty one mean the same in files that programs write.
    found = entry.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        fail(path, f"must be a list, got {brief(found)}", f"{where}.{key}")
    return found


def chosen_level(path: Path, levels: Mapping[Any, Any], level: str | None) -> tuple[str, Mapping[str, Any]]:
    """Return (name, content) of the level called `level`, or of the only one; raises ConfigError."""
    if not levels:
        fail(path, "it has no levels")
    # Choosing one silently would be a guess.
    if level is None and len(levels) > 1:
        fail(path, f"it has the levels {', '.join(map(str, levels))}; say which one to read", "levels")
    name = next(iter(levels)) if level is None else level
    if name not in levels:
        fail(path, f"there is no level {name!r}; it has {', '.join(map(str, levels))}", "levels")
    if not isinstance(levels[name], Mapping):
        fail(path, "must be a mapping", f"levels.{name}")
    return str(name), levels[name]


FORMATS: Registry[SiteFormat] = Registry("site format", instances_of(SiteFormat), group="fleet_sim.site_format")
"""The formats of files that sites are read from, by name."""


def read_site(path: str | Path, *, level: str | None = None, cell: float | None = None, whole: bool = False) -> Site:
    """Return the site in the file `path`; raises ConfigError.

    The format is told by the suffix and the content. `level` is the floor to read of a building with several, `cell`
    the size of the cells in m: a whole number of times that of the file. Keys that have no effect are named in a
    warning, unless the caller uses the `whole` file.
    """
    file = resolve_config(path, folder="sites/maps")
    found, content = _content(file)
    candidates = [form for form in found if form.recognises(content)]
    if not candidates:
        expected = ", ".join(form.doc for form in found)
        fail(file, f"is not a site; a file that ends in {file.suffix!r} can be: {expected}")
    if level is not None and not candidates[0].has_levels:
        fail(file, f"it has no levels, {level!r} is asked for")
    if not whole:
        warn_of(candidates[0].unused(content), file)
    try:
        site = candidates[0].read(content, file, level)
    except (InvalidValueError, UnknownNameError) as error:
        # What the file describes is refused by the parts of a site, which do not know of files.
        raise ConfigError(str(error), source=str(file)) from error
    try:
        return site if cell is None else site.with_cells_of(cell)
    except ValueError as error:
        raise ConfigError(str(error), source=str(file), path="cell") from error


def _content(file: Path) -> tuple[list[SiteFormat], Any]:
    """Return the formats with the suffix of `file`, and its content as these take it."""
    suffix = file.suffix.lower()
    formats = list(FORMATS.all().values())
    found = [form for form in formats if suffix in form.suffixes]
    if not found:
        known = ", ".join(sorted({ending for form in formats for ending in form.suffixes}))
        fail(file, f"sites are read from files that end in {known}")
    if suffix in (".yaml", ".yml"):
        return found, load_mapping(file)
    return found, read_json(file) if suffix == ".json" else read_text(file)
