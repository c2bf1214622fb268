"""What the live view costs a step: without it, with it and no page, with a page that reads, with one that does not.

    python bench/view.py [--robots 1000 10000] [--steps 2000]

A page is a websocket that takes what is sent, as a browser does; one that does not read stands for a slow network.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams

ROUNDS = 5
SPACING = 1.5
"""Between robots, in m."""
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (0.0, 0.0, 9.0),
    "fov": 0.7,
    "near": 0.1,
    "far": 100.0,
    "image_height": 600,
    "image_width": 900,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
"""What a page says when it is ready."""


def fleet(robots: int) -> MultiRobotSimulationCore:
    """Return a simulation of boxes that all drive."""
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, target_rtf=0.0, timestep=0.02, monitor=False))
    box = ShapeParams("box", half_extents=(0.3, 0.2, 0.1), rgba_color=(0.2, 0.5, 0.9, 1.0))
    side = int(robots**0.5)
    for number in range(robots):
        row, column = divmod(number, side)
        pose = Pose.from_xyz(SPACING * column, SPACING * row, 0.1)
        agent = sim.spawn(AgentSpawnParams(box, box, pose, name=f"robot_{number}"))
        agent.set_velocity(vx=0.2, wz=0.5)
    return sim


@contextmanager
def page(url: str, *, reads: bool) -> Iterator[list[int]]:
    """Open a page; yields the numbers of bytes of what it got."""
    got: list[int] = []
    parts, leaving = urlsplit(url), Event()
    socket = connect(
        f"ws://{parts.netloc}{parts.path}",
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        max_size=None,
        compression=None,
    )
    socket.send(msgspec.msgpack.encode(CAMERA))

    def listen() -> None:
        try:
            while not leaving.is_set():
                got.append(len(socket.recv()))
                if not reads:
                    leaving.wait()
        except ConnectionClosed:
            return

    thread = Thread(target=listen)
    thread.start()
    yield got
    leaving.set()
    socket.close()
    thread.join()


class StepTime(NamedTuple):
    """Of a step, in ms: real time, and processor time of the simulation's own thread."""

    wall: float
    own: float


def step_time(sim: MultiRobotSimulationCore, steps: int) -> StepTime:
    """Return the mean times of a step; the least of some runs, as all else that the machine does only adds to it."""
    found = []
    for _ in range(ROUNDS):
        wall, own = time.perf_counter(), time.thread_time()
        report = sim.run_simulation(steps * sim.params.timestep)
        wall, own = time.perf_counter() - wall, time.thread_time() - own
        found.append(StepTime(1000.0 * wall / report.steps, 1000.0 * own / report.steps))
    return StepTime(min(one.wall for one in found), min(one.own for one in found))


def main() -> None:
    """Print a line per number of robots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, nargs="+", default=[1000, 10_000], metavar="N")
    parser.add_argument("--steps", type=int, default=2000, metavar="N")
    args = parser.parse_args()
    print(
        f"{'robots':>8}  {'none':>13}  {'no page':>13}  {'a page':>13}  {'slow page':>13}"
        "  ms per step, and of them processor time of its thread;   sent to the page"
    )
    for robots in args.robots:
        with fleet(robots) as sim:
            times = [step_time(sim, args.steps)]
            view = sim.view.show(port=0)
            times.append(step_time(sim, args.steps))
            with page(view.url, reads=True) as got:
                begin = time.perf_counter()
                times.append(step_time(sim, args.steps))
                rate = sum(got) / (time.perf_counter() - begin) / 1e6
            with page(view.url, reads=False):
                times.append(step_time(sim, args.steps))
            shown = "  ".join(f"{one.wall:>6.3f} {one.own:>6.3f}" for one in times)
            print(f"{robots:>9}  {shown}   {len(got)} messages, {rate:.1f} MB/s", flush=True)


if __name__ == "__main__":
    main()
