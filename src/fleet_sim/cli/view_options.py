"""Options of commands that show a simulation in the browser."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fleet_sim.config.params import SimulationParams
from fleet_sim.config.view_params import ViewParams
from fleet_sim.errors import ConfigError
from fleet_sim.settings import read
from fleet_sim.settings.fields import fields_of

if TYPE_CHECKING:
    from fleet_sim.facade.live import LiveView

REAL_TIME = 1.0


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the page is, and what it allows."""
    docs = {name: field.rules.doc for name, field in fields_of(ViewParams).items()}
    parser.add_argument("--host", metavar="ADDRESS", help=_help(docs["host"]))
    parser.add_argument("--port", type=int, metavar="N", help=_help(docs["port"]))
    parser.add_argument("--read-only", action="store_true", help=_help(docs["read_only"]))
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser, only print the address")


def _help(doc: str) -> str:
    return doc[0].lower() + doc[1:].rstrip(".")


def view_params(args: argparse.Namespace) -> ViewParams:
    """Return the settings that the options say; raises ConfigError."""
    given = {"host": args.host, "port": args.port}
    chosen = {name: value for name, value in given.items() if value is not None}
    return read(ViewParams, {**chosen, "read_only": args.read_only, "browser": not args.no_browser})


def check_unused(args: argparse.Namespace) -> None:
    """Raise ConfigError for options of a view where there is none."""
    for name in ("host", "port", "read_only", "no_browser"):
        value = getattr(args, name)
        # By identity: the port 0 equals False.
        if value is not None and value is not False:
            raise ConfigError(f"--{name.replace('_', '-')} is for the page in the browser; give --view too")


def announce(view: LiveView) -> None:
    """Print where the page is. At once: whoever waits for it may read through a pipe."""
    print(f"view: {view.url}", flush=True)


def watched(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be set where somebody watches: no window, and real time where there is no other speed."""
    factor = settings.get("target_rtf", SimulationParams().target_rtf)
    return {"gui": False, **({} if factor else {"target_rtf": REAL_TIME})}
