"""Which function loads a launch file of which ending.

A front end makes actions of tags, one of which includes launch files of any kind. So front ends are above the
sources of descriptions, and offer themselves here; `launch` imports them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..launch_description import LaunchDescription

Load = Callable[[str], LaunchDescription]

_loaders: dict[str, Load] = {}


def offer_loader(endings: tuple[str, ...], load: Load) -> None:
    """Load files with these endings by this function."""
    _loaders.update(dict.fromkeys(endings, load))


def loader_of(path: str) -> Load | None:
    """The function for a file, or None where no front end reads such files."""
    return next((load for ending, load in _loaders.items() if path.endswith(ending)), None)
