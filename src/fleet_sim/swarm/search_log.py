"""The log of a search: one line of JSON per generation. Replaying it restores the state of the search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fleet_sim.errors import ConfigError
from fleet_sim.output import refusals
from fleet_sim.swarm.search import Search


def _fingerprint(search: Search) -> dict[str, Any]:
    """Return the settings that determine the result of a search, without its length; a log is tied to them."""
    # A search may be continued for more generations, so their number is left out, and so is what changes no result.
    left_out = ("generations", "together", "world")
    settings = {name: value for name, value in vars(search.config).items() if name not in left_out}
    plain: dict[str, Any] = json.loads(json.dumps({**settings, "world": search.world}, default=repr))
    return plain


@contextmanager
def log_for(search: Search, log: str | Path | None, *, new: bool) -> Iterator[TextIO | None]:
    if log is None:
        yield None
        return
    with refusals(log), Path(log).open("w" if new else "a", encoding="utf-8") as stream:
        if new:
            stream.write(json.dumps(_fingerprint(search)) + "\n")
        yield stream


def read_log(search: Search, log: Path) -> list[list[float]]:
    """Return the values of every generation in a log; raises ConfigError where it is of another search."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8").splitlines()
    try:
        # A last line that was cut off by an interruption is not valid JSON: it is refused, not guessed.
        head, *entries = [json.loads(line) for line in lines if line]
        known = [[float(value) for value in entry["values"]] for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"is not the log of a search: {error}; remove it to begin anew", source=str(log)) from error
    # Compared as plain JSON on both sides: tuples and numbers of NumPy would never equal what was read.
    if head != _fingerprint(search):
        raise ConfigError("is the log of another search; remove it to begin anew", source=str(log))
    return known
