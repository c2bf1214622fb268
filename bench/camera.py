"""Measure the cost of a picture: the renderers and a plain `getCameraImage`, in turns on the same world.

Run: python bench/camera.py [--robots 20 100 500] [--sizes 320x240 640x480] [--rounds 15] [--shadows]

Robots are boxes on the floor, seen by a camera among them; pictures are colours and depth. Times are
medians in ms, of CPU time with --clock cpu (of all threads), on a machine that does other work as well; ratios are
medians over the rounds of what the bare call takes divided by what the renderer takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.sensing.sensors.render.renderer import make_renderer
from fleet_sim.sensing.sensors.render.shot import Intrinsics, Shot, optical_orientations
from fleet_sim.world.clock import Clock
from fleet_sim.world.joints import keep_freed_memory
from fleet_sim.world.shapes import BodyShape, Geometry
from fleet_sim.world.world import World

ROBOT = Geometry(ShapeKind.BOX, half_extents=(0.25, 0.2, 0.15), rgba=(0.9, 0.5, 0.1, 1.0))
BURST = 5
"""Number of pictures in a row before the next renderer."""
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def make_mirror(count: int) -> BulletMirror:
    """Return the view of a world of `count` box robots, one per 2.5 m2, and a floor."""
    world = World(Clock(0.1))
    mirror = BulletMirror(world, BulletClient(floor=True))
    rng = np.random.default_rng(count)
    side = 0.5 * np.sqrt(2.5 * count)
    rows = world.allocate([None] * count)
    world.position[rows] = np.column_stack([rng.uniform(-side, side, (count, 2)), np.full(count, 0.15)])
    world.orientation[rows] = quaternions.from_yaws(rng.uniform(-np.pi, np.pi, count))
    world.shape_id[rows] = world.shapes.intern(BodyShape(ROBOT, ROBOT))
    world.announce(rows)
    mirror.ensure()
    return mirror


def bare_call(mirror: BulletMirror, shot: Shot) -> Callable[[], object]:
    """Return the call that a user of PyBullet would make for the same picture."""
    client, lens = mirror.client, shot.intrinsics
    axes = quaternions.to_matrices(shot.orientation[None])[0]
    view = client.computeViewMatrix(shot.position.tolist(), (shot.position + axes[:, 2]).tolist(), (0.0, 0.0, 1.0))
    fov = np.degrees(2.0 * np.arctan(0.5 * lens.height / lens.fy))
    projection = client.computeProjectionMatrixFOV(fov, lens.width / lens.height, shot.near, shot.far)
    renderer = client.ER_TINY_RENDERER
    return lambda: client.getCameraImage(lens.width, lens.height, view, projection, renderer=renderer)


def measure(count: int, size: tuple[int, int], rounds: int, clock: Callable[[], float], *, shadows: bool) -> str:
    """Return one line of the table."""
    mirror = make_mirror(count)
    body = quaternions.from_eulers(np.array([[0.0, 0.08, 0.3]]))
    side = 0.5 * np.sqrt(2.5 * count)
    lens = Intrinsics.from_fov(*size, 1.2)
    shot = Shot(lens, np.array([-side, -0.3 * side, 0.8]), optical_orientations(body)[0], shadows=shadows)
    opengl, tiny = (make_renderer(mirror, name) for name in ("opengl", "tiny"))
    works = {"bare": bare_call(mirror, shot), "tiny": lambda: tiny.render(shot), "opengl": lambda: opengl.render(shot)}
    times: dict[str, list[float]] = {name: [] for name in works}
    for round_number in range(rounds + 1):
        for name, work in works.items():
            start = clock()
            for _ in range(BURST):
                work()
            if round_number > 0:
                times[name].append(1e3 * (clock() - start) / BURST)
    bare, ours, fallback = (np.array(times[name]) for name in ("bare", "opengl", "tiny"))
    opengl.close()
    mirror.close()
    over = 100.0 * np.median(fallback / bare - 1.0)
    return (
        f"{count:>8} {size[0]:>5}x{size[1]:<5} {np.median(bare):>9.2f} {np.median(ours):>9.2f} "
        f"{np.median(bare / ours):>8.1f}x {np.median(fallback):>9.2f} {over:>+8.1f} %"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, nargs="+", default=[20, 100, 500], metavar="N")
    parser.add_argument("--sizes", nargs="+", default=["320x240", "640x480"], metavar="WxH")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall")
    parser.add_argument("--shadows", action="store_true", help="draw shadows on the floor with opengl")
    args = parser.parse_args()
    keep_freed_memory()
    device = make_renderer(make_mirror(1), "opengl").device
    print(f"{args.clock} time in ms; OpenGL is {device}")
    print(
        f"{'robots':>8} {'picture':>11} {'bare call':>9} {'opengl':>9} {'faster':>9} {'fallback':>9} {'over bare':>10}"
    )
    for count in args.robots:
        for size in args.sizes:
            width, height = map(int, size.split("x"))
            print(measure(count, (width, height), args.rounds, CLOCKS[args.clock], shadows=args.shadows))


if __name__ == "__main__":
    main()
