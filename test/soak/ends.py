"""Start the node and end it by Ctrl-C, again and again: `python test/soak/ends.py [--runs 20] [--robots 5 300 1000]`.

Each run is interrupted at a random moment, from the first line of the program on to some seconds after it says that it
runs and is busy; `--seed` chooses the moments. The runs take turns at what it is busy with: nothing, goals, picking and
drawing for a client, and goals on a machine on which nothing is compiled yet. A run is well if the exit code is 0,
nothing is printed that should not be there, and the end takes at most `--seconds`: of real time or, where other
programs keep the machine busy, of processor time and waits.
The exit code is the number of runs that are not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 600.0
"""The longest that anything is waited for, in s: other programs may keep the machine busy."""
RUNS, WORKS = "press Ctrl-C to stop", "the client has an answer"
BUSY = ("standing", "goals", "picking", "drawing", "compiling")
GOALS, CAMERAS = 1000, 10
BEFORE = 0.3
"""Share of the runs that are interrupted before the node says that it runs."""
IMPORTED = 0.5
"""In s of processor time: the interpreter itself starts until then, and Ctrl-C means nothing else than to Python."""
WAITS = 0.5
"""In s: what an end on an idle machine takes besides its processor time."""
WRONG = re.compile(r"Traceback|Error|[Ff]atal|terminate|broken off|Exception ignored|core dumped")


class End(NamedTuple):
    """How a run has ended: whether it got to its moment, exit code, seconds of real and processor time, and output."""

    has_come: bool
    code: int
    real: float
    own: float
    output: str

    def fault(self, seconds: float) -> str:
        """Return what is wrong with it; empty if nothing is."""
        if not self.has_come:
            return "is never busy"
        if self.code != 0:
            return f"code {self.code}"
        found = WRONG.search(self.output)
        if found:
            return f"prints {found[0]!r}"
        return "takes too long" if min(self.real, self.own + WAITS) > seconds else ""


def processor_time(process: int) -> float:
    """Return the processor time of a process in s; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def scenario(robots: int) -> dict[str, Any]:
    """Return carts, each with a crate before it, and robots with cameras."""
    seeing = min(CAMERAS, robots // 2)
    camera = {"type": "camera", "rate": 10, "pose": [0.3, 0, 0.2], "width": 160, "height": 120}

    def row(name: str, count: int, x: float, **more: Any) -> dict[str, Any]:
        grid = {"count": count, "columns": 1, "spacing": [0, 1, 0]}
        shape = {"shape_type": "box", "half_extents": [0.2, 0.2, 0.15]}
        return {"name": name, "grid": grid, "pose": [x, 0, 0.15], "shape": shape, **more}

    entries = [row("cart", robots - seeing, 0.0), row("seeing", seeing, -3.0, sensors=[camera])]
    return {"robots": entries, "objects": [row("crate", robots - seeing, 2.0)]}


def keep_busy(busy: str, robots: int) -> None:
    """Be a client of the node until the process is killed."""
    import rclpy
    from rclpy.action import ActionClient
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import Image

    from fleet_sim_msgs.action import MoveTo, Pick

    def works(answer: object) -> None:
        os.write(1, f"{WORKS}\n".encode())

    rclpy.init()
    node = rclpy.create_node("busy")
    entries = {entry["name"]: entry["grid"]["count"] for entry in scenario(robots)["robots"]}
    if busy == "drawing":
        for index in range(entries["seeing"]):
            topic = f"/seeing_{index}/camera/image_raw"
            node.create_subscription(Image, topic, works, qos_profile_sensor_data)
    else:
        name, action = ("pick", Pick) if busy == "picking" else ("move_to", MoveTo)
        client = ActionClient(node, action, f"/fleet/{name}")
        client.wait_for_server()
        for index in range(GOALS):
            number = index % entries["cart"]
            goal = action.Goal(robot=f"cart_{number}")
            if busy == "picking":
                goal.object = f"crate_{number}"
            else:
                goal.pose.pose.position.x, goal.pose.pose.position.y = 9.0, float(number)
            # Any answer will do: of so many at once the queue of answers keeps ten only.
            client.send_goal_async(goal).add_done_callback(works)
    rclpy.spin(node)


def run(robots: int, busy: str, folder: Path, *, runs_for: float | None, begins_for: float) -> End:
    """Start a node and interrupt it, `runs_for` s after it runs, or in its start after `begins_for` s of its own."""
    parameter, environment, awaited = f"robots:={robots}", dict(os.environ), RUNS
    with ExitStack() as stack:
        # What both write is added to its end, wherever it is being read.
        log = stack.enter_context(tempfile.TemporaryFile("a+"))
        if busy != BUSY[0]:
            config = folder / f"{robots}.yaml"
            config.write_text(json.dumps(scenario(robots)))
            parameter, awaited = f"config:={config}", WORKS
        if runs_for is not None and awaited is WORKS:
            client = [sys.executable, __file__, "--client", busy, "--robots", str(robots)]
            stack.callback(subprocess.Popen(client, stdout=log, stderr=subprocess.DEVNULL).kill)
        if busy == "compiling":
            environment["XDG_CACHE_HOME"] = stack.enter_context(tempfile.TemporaryDirectory(dir=folder))
        command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", parameter]
        process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        deadline, has_come = time.monotonic() + PATIENCE, False
        while not has_come and process.poll() is None and time.monotonic() < deadline:
            log.seek(0)
            has_come = awaited in log.read() or (runs_for is None and processor_time(process.pid) > begins_for)
            time.sleep(0.01)
        time.sleep(runs_for or 0.0)
        own, begin = processor_time(process.pid), time.monotonic()
        last = own
        process.send_signal(signal.SIGINT)
        while process.poll() is None and time.monotonic() < begin + PATIENCE:
            last = max(last, processor_time(process.pid))
            time.sleep(0.01)
        real = time.monotonic() - begin
        process.kill()
        code = process.wait()
        log.seek(0)
        return End(has_come, code, real, last - own, log.read())


def main() -> int:
    """Run the loop; returns how many runs were not well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="for each size")
    parser.add_argument("--robots", type=int, nargs="+", default=[5, 300, 1000])
    parser.add_argument("--busy", nargs="+", choices=BUSY, default=BUSY)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--client", choices=BUSY[1:], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        keep_busy(arguments.client, *arguments.robots)
    chance = random.Random(arguments.seed)
    wrong, kinds = 0, cycle(arguments.busy)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for robots in arguments.robots:
            for busy in islice(kinds, arguments.runs):
                before = chance.random() < BEFORE
                moments = chance.uniform(0.0, 6.0), chance.uniform(IMPORTED, 3.0)
                runs_for = None if before else moments[0]
                end = run(robots, busy, Path(folder), runs_for=runs_for, begins_for=moments[1])
                fault = end.fault(arguments.seconds)
                wrong += bool(fault)
                when = f"{moments[1]:.1f} s into its start" if before else f"after {moments[0]:.1f} s"
                took = f"{end.real:.1f} s, {end.own:.1f} s of its own"
                print(f"{robots:5} robots, {busy}, {when}: {took} {fault}", flush=True)
                if fault:
                    print(end.output[-4000:], flush=True)
    print(f"{wrong} of {arguments.runs * len(arguments.robots)} were not well")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
