"""Packages that are used from their sources: the fallback behind the resource index.

A source tree has no resource index, so a package that no prefix knows is looked for by its `package.xml`, in

1. the source folder of every distribution installed with `pip install --editable`,
2. the current directory and the directories above it,

each time in the folder itself and one level below its `src`. Such a package's prefix and share directory are
both the folder of its `package.xml`: `launch/`, `base/` and the like are where its `setup.py` would
install them from.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlparse

_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")


@lru_cache(maxsize=1)
def _editable_sources() -> tuple[Path, ...]:
    sources: dict[Path, None] = {}
    for site in sys.path:
        for text in _origins(site or "."):
            if text:
                origin = json.loads(text)
                if origin.get("dir_info", {}).get("editable"):
                    sources[Path(unquote(urlparse(origin["url"]).path))] = None
            else:
                # `setup.py develop`, which pip uses for packages without a pyproject.toml, leaves only the
                # metadata in the source folder, or in its `src`.
                folder = Path(site)
                sources[folder.parent if folder.name == "src" else folder] = None
    return tuple(sources)


def _origins(site: str) -> Iterator[str]:
    """Where each distribution in a folder came from, as JSON; "" where its metadata does not say.

    Not by importlib.metadata: importing that takes a tenth of the time in which a node starts.
    """
    try:
        names = os.listdir(site)
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                yield Path(site, name, "direct_url.json").read_text(encoding="utf-8")
            except OSError:
                yield ""


def _roots() -> Iterator[Path]:
    yield from _editable_sources()
    here = Path(os.getcwd())
    yield here
    yield from here.parents


def _manifests() -> Iterator[Path]:
    for root in _roots():
        manifest = root / "package.xml"
        if manifest.is_file():
            yield manifest
        if (root / "colcon_defaults.yaml").is_file() or manifest.is_file():
            yield from sorted(root.glob("src/*/package.xml"))


def find_checkouts() -> dict[str, str]:
    """Package name to source folder, for every package found as this module describes."""
    found: dict[str, str] = {}
    for manifest in _manifests():
        match = _NAME.search(manifest.read_text(encoding="utf-8", errors="replace"))
        if match:
            found.setdefault(match.group(1), str(manifest.parent))
    return found
