"""Reads a site from any file of a known format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fleet_sim.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.paths import resolve_config
from fleet_sim.settings import load_mapping
from fleet_sim.sites.formats.site_format import FORMATS, SiteFormat, fail, read_text, warn_of
from fleet_sim.sites.site import Site


def read_site(path: str | Path, *, level: str | None = None, cell: float | None = None, whole: bool = False) -> Site:
    """Return the site in the file `path`; raises ConfigError.

    The format is told by the suffix and the content. `level` is the floor to read of a building with several, `cell`
    the size of the cells in m: a whole number of times that of the file. Keys that have no effect are named in a
    warning, unless the caller uses the `whole` file.
    """
    file = resolve_config(path)
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
    text = read_text(file)
    if suffix != ".json":
        return found, text
    try:
        return found, json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not valid JSON: {str(error)[:200]}", source=str(file)) from error
