"""`--vda5050` of `fleet-sim run`: vehicles that a master control drives over an MQTT broker."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from fleet_sim.base.errors import ConfigError

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore

OWN = "own"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--vda5050",
        nargs="?",
        const=OWN,
        metavar="URL",
        help="let a master control drive the robots by VDA 5050, over the MQTT broker at mqtt://host:1883 or"
        " mqtts://user@host:8883; without URL over a broker in this process, at localhost:1883",
    )
    parser.add_argument(
        "--vda5050-ca", metavar="FILE", help="file with CA certificates for the broker (default: those of the system)"
    )


def check(args: argparse.Namespace) -> None:
    """Raise ConfigError for options that do not go together."""
    if args.vda5050_ca and args.vda5050 in (None, OWN):
        raise ConfigError("--vda5050-ca is for --vda5050 mqtts://host")
    if args.vda5050 not in (None, OWN):
        # Imported here so that --help and errors in other options are immediate.
        from fleet_sim.warehouse.vda5050.address import BrokerAddress

        BrokerAddress.parse(args.vda5050, args.vda5050_ca)


def add_section(args: argparse.Namespace, config: dict[str, Any]) -> None:
    """Let all robots of a scenario without a section `vda5050` be vehicles, where a broker was named."""
    # `view` has its scenario read in the same way, and has no such option.
    if getattr(args, "vda5050", None) is not None and "robots" in config:
        config.setdefault("vda5050", {})


@contextmanager
def connected(sim: MultiRobotSimulationCore, args: argparse.Namespace) -> Iterator[list[str]]:
    """Connect the vehicles of `sim` while it runs; afterwards the list says in lines what came in."""
    lines: list[str] = []
    if args.vda5050 is None:
        yield lines
        return
    from fleet_sim.warehouse.vda5050.connection import connect_vehicles

    with ExitStack() as stack:
        url = args.vda5050
        if url == OWN:
            from fleet_sim.warehouse.vda5050.broker import OwnBroker

            broker = OwnBroker()
            stack.callback(broker.close)
            url = f"mqtt://{broker.host}:{broker.port}"
        session = stack.enter_context(connect_vehicles(sim, url, ca=args.vda5050_ca))
        print(f"VDA 5050: {session.figures()['vehicles']} vehicles at {session.link.address}", flush=True)
        yield lines
        lines += told(session.figures())


def told(figures: dict[str, Any]) -> list[str]:
    """Return in lines what a master control sent."""
    taken, refused = sum(figures["taken"].values()), sum(figures["refused"].values())
    lines = [f"VDA 5050: {taken} messages carried out, {refused} refused"]
    lines += [f"  {number} refused: {reason}" for reason, number in sorted(figures["refused"].items())]
    lines += [f"  {number} not let in: {reason}" for reason, number in sorted(figures["not_let_in"].items())]
    return lines
