"""What the lab finds: `python bench/lab.py [NAME ...] [--minutes 10] [--jobs 2] [--seed 1]`.

Each manager of examples/managers/mutants.py has a fault. It is run in the lab until something breaks, and that is
shrunk; `Manager` is the one without a fault. A line says what broke, after how many runs and how much processor time,
and how many events are left. In `--minutes` on two cores each should be found, with at most six events.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from fleet_sim.apps.lab.night import perform

MANAGERS = Path(__file__).parents[1] / "examples" / "managers"
sys.path.insert(0, str(MANAGERS))
STRATEGIES = ("random", "bursts", "search")


def lab_of(name: str) -> dict[str, Any]:
    """Return the lab file of a manager."""
    file = "vda5050_manager.py" if name == "Manager" else "mutants.py"
    return {
        "site": {"grid": {"rows": 3, "columns": 4}},
        "vehicles": {"count": 3, "battery": {"capacity_wh": 50, "idle_power": 40, "charge_power": 4000}},
        "orders": {"count": 6, "every": 6, "cancelled": 0.2},
        "manager": {"python": f"{MANAGERS / file}:{name}"},
        "disturbances": {"most": 8},
        "duration": 70,
        "rules": {"patience": 60, "end_within": 200},
    }


def search(name: str, seed: int, most: float, folder: str) -> dict[str, Any]:
    """Run a manager until something breaks or `most` s of processor time are over; return what was seen."""
    lab, begin, runs, simulated = {"lab": json.dumps(lab_of(name)), "source": ""}, time.process_time(), 0, 0.0
    kept: list[list[dict[str, Any]]] = [[]]
    reached: set[str] = set()
    answer: dict[str, Any] = {}
    while time.process_time() - begin < most:
        job = {"do": "run", **lab, "seed": seed, "number": runs, "strategy": STRATEGIES[runs % 3] if runs else "none"}
        answer = perform(job | {"events": Random(f"{seed} {runs}").choice(kept)})
        runs, simulated = runs + 1, simulated + answer["seconds"]
        if answer["failure"] is not None:
            break
        if not reached.issuperset(answer["transitions"]):
            reached.update(answer["transitions"])
            kept.append(answer["case"]["events"])
    found = {"name": name, "runs": runs, "seconds": time.process_time() - begin, "simulated": simulated}
    if answer.get("failure") is None:
        return found
    found["failure"] = answer["failure"] | {"strategy": answer["strategy"]}
    shrink = {"do": "shrink", **lab, "case": answer["case"], "failure": answer["failure"], "most": 120}
    return found | {"shrunk": perform(shrink | {"file": f"{folder}/{name}"}), "all": time.process_time() - begin}


def line(found: dict[str, Any]) -> str:
    """Return a row of the table."""
    start = f"{found['name']:22} {found['runs']:5} runs {found['seconds']:6.0f} s"
    if "failure" not in found:
        return f"{start}  nothing broke in {found['simulated'] / 3600:.1f} simulated hours"
    failure, shrunk = found["failure"], found["shrunk"]
    calm = "  ON A CALM DAY" if failure["strategy"] == "none" else ""
    size = (
        f"{shrunk['events']} events, {shrunk['vehicles']} vehicles after {found['all'] - found['seconds']:.0f} s more"
    )
    return f"{start}  {size}  {failure['oracle']}: {failure['cause']}{calm}"


def main() -> int:
    """Print the table; returns 1 where a fault was not found, or the correct manager has broken something."""
    mutants = import_module("mutants").MUTANTS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*mutants, "Manager"], metavar="NAME")
    parser.add_argument("--minutes", type=float, default=10.0, help="on two cores, for each manager")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the smallest cases are kept")
    args = parser.parse_args()
    folder = args.out or Path(tempfile.mkdtemp(prefix="lab-"))
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with ProcessPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(search, name, args.seed, 120.0 * args.minutes, str(folder)) for name in args.names]
        for job in as_completed(jobs):
            found = job.result()
            print(line(found), flush=True)
            wrong += ("failure" in found) == (found["name"] == "Manager")
    print(f"{len(jobs)} managers, {wrong} not as they should be; cases in {folder}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
