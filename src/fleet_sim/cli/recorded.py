"""Options of `fleet-sim run` that keep a run: recordings."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from fleet_sim.errors import FleetSimError

if TYPE_CHECKING:
    from fleet_sim.facade.recording import RunRecording
    from fleet_sim.simulation import MultiRobotSimulationCore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--record",
        metavar="FILE.mcap",
        help="record the run; see `fleet-sim replay`, `fleet-sim film`, ros2 bag, Foxglove",
    )
    parser.add_argument(
        "--record-rate", type=float, default=10.0, metavar="HZ", help="samples per simulated second (default: 10)"
    )


class KeptRun:
    """Keeps the run in its `with` block as the options say; `report` says what came of it, at the very end."""

    def __init__(self, sim: MultiRobotSimulationCore, args: argparse.Namespace) -> None:
        self._recording: RunRecording | None = None
        if args.record:
            self._recording = sim.record(args.record, rate=args.record_rate)

    def __enter__(self) -> KeptRun:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._recording is not None:
            # Raised by `report`, when the rest of what is known of the run is printed.
            with contextlib.suppress(FleetSimError):
                self._recording.close()

    def report(self) -> None:
        """Print which files there are now; raises FleetSimError where one could not be written."""
        if self._recording is None:
            return
        if self._recording.error is not None:
            raise FleetSimError(f"the run went on to its end, its recording did not: {self._recording.error}")
        print(f"recording: {self._recording.path}")
