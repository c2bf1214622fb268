"""Measurements by simulator and case, and how rounds are reduced to one number."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from workload import Case

FOLDER = Path(__file__).parent


class Failure(Exception):
    """A measuring process failed; the message names it and shows the end of its output."""


@dataclass
class Results:
    """Measurements by (simulator, case), one per round."""

    runs: dict[tuple[str, Case], list[dict[str, Any]]] = field(default_factory=dict)

    def measure(self, program: str, interpreter: str, case: Case) -> None:
        """Run `program` ("ours" or "peer") on `case` in a process of its own; raises Failure."""
        command = [interpreter, str(FOLDER / f"{program}.py"), *case.arguments()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        if done.returncode or not lines:
            raise Failure(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
        self.runs.setdefault((program, case), []).append(json.loads(lines[-1]))

    def value(self, program: str, case: Case, key: str) -> float | None:
        """Return the median over all rounds, or None if it was not measured."""
        runs = self.runs.get((program, case))
        return median(run[key] for run in runs) if runs else None

    def step_ms(self, case: Case) -> float | None:
        """Return fleet_sim's step in ms."""
        return self.value("ours", case, "step_ms")

    def spawn_ms(self, case: Case) -> float | None:
        """Return fleet_sim's time to spawn the fleet in ms."""
        return self.value("ours", case, "spawn_ms")

    def kb_per_robot(self, case: Case) -> float | None:
        """Return fleet_sim's memory per robot in kB, right after the spawn."""
        return self.value("ours", case, "kb_per_robot")

    def kb_after_run(self, case: Case) -> float | None:
        """Return fleet_sim's memory per robot in kB at the end, with the initial state kept for a reset."""
        return self.value("ours", case, "kb_after_run")

    def ratio(self, case: Case) -> float | None:
        """Return the ratio of the peer's step to fleet_sim's: the median over the rounds."""
        ours, peer = self.runs.get(("ours", case)), self.runs.get(("peer", case))
        if not ours or not peer:
            return None
        return median(theirs["step_ms"] / own["step_ms"] for own, theirs in zip(ours, peer, strict=True))

    def systems(self, case: Case) -> dict[str, float]:
        """Return the time of each system in ms per step, the median over all rounds."""
        runs = self.runs.get(("ours", case), [])
        return {name: median(run["systems"][name] for run in runs) for name in (runs[0]["systems"] if runs else ())}

    def core_shares(self) -> list[float]:
        """Return the share of a core that each process got; far below 1, the machine was busy with other work."""
        return [run["core_share"] for runs in self.runs.values() for run in runs]

    def as_json(self) -> list[dict[str, Any]]:
        """Return everything measured."""
        return [
            {"simulator": program, "case": asdict(case), "rounds": runs} for (program, case), runs in self.runs.items()
        ]
