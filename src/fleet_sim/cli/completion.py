"""Tab completion of `fleet-sim`, by argcomplete (extra `terminal`)."""

from __future__ import annotations

import argparse
import os
from typing import Any


def is_asked() -> bool:
    """Return whether a shell asks for completions and not for a run."""
    return "_ARGCOMPLETE" in os.environ


def answer(parser: argparse.ArgumentParser) -> None:
    """Print the completions of what the shell has so far, and exit."""
    import argcomplete

    _add_names(parser)
    argcomplete.autocomplete(parser)


def _add_names(parser: argparse.ArgumentParser) -> None:
    """Let arguments that take a shipped scenario or a model complete their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _add_names(below)
        elif action.metavar in ("CONFIG", "SCENARIO"):
            action.completer = scenario_names  # type: ignore[attr-defined]  # where argcomplete looks for it
        elif action.dest == "model":
            action.completer = model_names  # type: ignore[attr-defined]


def scenario_names(prefix: str, **about: Any) -> list[str]:
    """Return files and shipped scenarios whose names begin with `prefix`."""
    from argcomplete.completers import FilesCompleter

    from fleet_sim.paths import data_roots

    found: set[str] = set(FilesCompleter(("yaml", "yml", "json"))(prefix))
    for root in data_roots():
        config = root / "config"
        # As `resolve_config` finds them: those of swarms by their bare name.
        found.update(file.name for kind in ("", "swarm") for file in (config / kind).glob("*.yaml"))
        found.update(file.relative_to(config).as_posix() for file in config.glob("*/*.yaml"))
    return sorted(name for name in found if name.startswith(prefix))


def model_names(prefix: str, **about: Any) -> list[str]:
    """Return the models in the catalog whose names begin with `prefix`."""
    from fleet_sim.models.catalog import KNOWN_MODELS

    return sorted(name for name in KNOWN_MODELS if name.startswith(prefix))
