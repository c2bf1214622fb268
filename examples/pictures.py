"""Make the pictures in docs/images: robots, pictures of cameras, lidar scans, an arm at work, swarms, rewards.

Run: python examples/pictures.py [FOLDER]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import mobile_manipulator
import numpy as np
import numpy.typing as npt
from train_picking import scripted

import fleet_sim as fs
from fleet_sim.apps.record.film import film, moments_of_run, times_of
from fleet_sim.base.files import data_file, write_png
from fleet_sim.learning.envs.franka import Franka2Env
from fleet_sim.learning.envs.policy import PICKING
from fleet_sim.swarm import World_from_config
from fleet_sim.swarm.pictures import picture
from fleet_sim.warehouse.sites import Warehouse, draw_site
from fleet_sim.warehouse.traffic import Router

ROOT = Path(__file__).parents[1]
SMOOTH = 3
"""Pictures are rendered larger by this factor and averaged, for smooth edges."""
# From near to far: bright to dark, in colors whose order survives conversion to grey.
DEPTH_COLORS = np.array([(253, 231, 37), (94, 201, 98), (33, 145, 140), (59, 82, 139), (68, 1, 84)], float)
ID_COLORS = np.array([(230, 97, 1), (94, 60, 153), (26, 150, 65), (253, 184, 99), (44, 123, 182), (215, 25, 28),
                       (171, 221, 164), (255, 217, 47), (128, 205, 193), (231, 138, 195)])  # fmt: skip

Image = npt.NDArray[np.uint8]


def averaged(rgb: Image) -> Image:
    """Return a picture SMOOTH times smaller."""
    height, width = (side // SMOOTH for side in rgb.shape[:2])
    blocks = rgb.reshape(height, SMOOTH, width, SMOOTH, 3)
    return blocks.mean(axis=(1, 3)).round().astype(np.uint8)


def looking_at(target: tuple[float, float, float], distance: float, yaw: float, pitch: float) -> fs.Pose:
    """Return the pose of a camera with `target` at the centre, looking along `yaw` and down by `pitch`."""
    ahead = (math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), -math.sin(pitch))
    x, y, z = (place - distance * step for place, step in zip(target, ahead, strict=True))
    return fs.Pose.from_euler(x, y, z, 0.0, pitch, yaw)


def portrait(model: str, size: tuple[int, int]) -> Image:
    """Return a picture of one robot from its front left, which it fills."""
    view = {"camera_yaw": 125.0, "camera_pitch": -22.0, "camera_fov": 34.0, "camera_auto_scale": 0.95}
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        sim.spawn(fs.AgentSpawnParams(urdf_path=model, use_fixed_base=True))
        return sim.draw_picture(*size, view)


def warehouse() -> fs.MultiRobotSimulationCore:
    """Return a corner of a warehouse: shelves, pallets, a station and robots."""
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.05))
    for model, x, y, yaw in (
        *(("shelf", 4.5, side, 0.5 * math.pi) for side in (-2.4, 0.0, 2.4)),
        ("pallet", 2.6, -1.9, 0.2), ("pallet", 2.7, 2.0, 1.4), ("station", 1.9, 3.2, 0.0),
        ("mobile_manipulator", 2.4, 0.1, 2.6), ("diff_base", 1.5, -1.1, 0.9), ("omni_base", 1.4, 1.2, -0.8),
    ):  # fmt: skip
        sim.spawn(fs.AgentSpawnParams(urdf_path=model, initial_pose=fs.Pose.from_yaw(x, y, 0.0, yaw)))
    random = np.random.default_rng(4)
    for index in range(14):
        half = tuple(random.uniform(0.08, 0.17, 3))
        color = (*random.uniform(0.35, 0.9, 3), 1.0)
        box = fs.ShapeParams("box", half_extents=half, rgba_color=color)
        x, y = (2.6, -1.9) if index < 3 else (random.uniform(3.2, 4.2), random.uniform(-2.5, 2.5))
        z = 0.15 + half[2] + 0.3 * index if index < 3 else half[2]
        sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose.from_yaw(x, y, z, random.uniform(0.0, 3.0))))
    return sim


def depth_colors(depth: npt.NDArray[np.float32]) -> Image:
    """Return depth as colors, near to far; infinite depth is white."""
    near, far = float(depth.min()), float(np.quantile(depth[np.isfinite(depth)], 0.97))
    share = np.clip((np.where(np.isfinite(depth), depth, far) - near) / (far - near), 0.0, 1.0)
    steps = np.linspace(0.0, 1.0, len(DEPTH_COLORS))
    colors = np.stack([np.interp(share, steps, DEPTH_COLORS[:, channel]) for channel in range(3)], axis=-1)
    colors[~np.isfinite(depth)] = 255.0
    return colors.astype(np.uint8)


def id_colors(ids: npt.NDArray[np.int32]) -> Image:
    """Return ids as colors, the floor and nothing in grey."""
    colors = ID_COLORS[ids % len(ID_COLORS)].astype(np.uint8)
    colors[ids < 0] = 225
    return colors


def camera_strip(size: tuple[int, int]) -> Image:
    """Return colors, depth and ids of one camera side by side."""
    width, height = size
    with warehouse() as sim:
        robot = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", name="seer"))
        settings = {"pose": fs.Pose.from_euler(0.35, 0.0, 0.75, 0.0, 0.15, 0.0), "horizontal_fov": 1.3, "far": 20.0}
        camera = sim.add_sensor("camera", robot, width=width, height=height, channels=["depth", "ids"], **settings)
        fine = sim.add_sensor("camera", robot, name="fine", width=SMOOTH * width, height=SMOOTH * height,
                              channels=["rgb"], shadows=True, **settings)  # fmt: skip
        seen = camera.read()
        return np.concatenate([averaged(fine.read().rgb), depth_colors(seen.depth), id_colors(seen.ids)], axis=1)


def overview(size: tuple[int, int]) -> Image:
    """Return the whole warehouse from above."""
    with warehouse() as sim:
        pose = looking_at((2.8, 0.0, 0.5), 7.5, math.radians(20.0), math.radians(30.0))
        width, height = (SMOOTH * side for side in size)
        camera = sim.add_sensor(
            "camera", pose=pose, width=width, height=height, horizontal_fov=0.9, channels=["rgb"], shadows=True
        )
        return averaged(camera.read().rgb)


def robots_sheet(size: tuple[int, int]) -> Image:
    """Return the bundled robots and objects, five in a row."""
    models = fs.discover_models("local")
    names = (
        "diff_base",
        "omni_base",
        "arm6",
        "rail_arm",
        "mobile_manipulator",
        "pallet",
        "shelf",
        "station",
        "box",
        "bin",
    )
    tiles = [portrait(models[name], size) for name in names]
    return np.concatenate([np.concatenate(tiles[at : at + 5], axis=1) for at in (0, 5)], axis=0)


def scans() -> Image:
    """Return scans of the robots of sensors.yaml over the map of their hall."""
    with fs.MultiRobotSimulationCore.from_yaml(data_file("config", "sensors.yaml")) as sim:
        for _ in range(100):
            sim.step_once()
        lidars = [agent.sensor("scan") for agent in sim.agents]
        return fs.draw_scans(fs.occupancy_grid(sim.world, resolution=0.02, z=0.25), lidars)


def pick_strip(size: tuple[int, int]) -> Image:
    """Return a mobile manipulator at work, from its start to the station."""
    width, height = (SMOOTH * side for side in size)
    pictures = []
    with fs.MultiRobotSimulationCore.from_yaml(data_file("config", "mobile_manipulator.yaml")) as sim:
        robot = sim.get_object("mm")
        pose = looking_at((1.4, 1.2, 0.5), 6.5, math.radians(65.0), math.radians(30.0))
        camera = sim.add_sensor("camera", pose=pose, width=width, height=height, horizontal_fov=0.82, channels=["rgb"])
        for action in [None, *mobile_manipulator.STEPS.values()]:
            if action is not None:
                robot.add_action(action)
                while not action.is_complete():
                    sim.step_once()
            pictures.append(averaged(camera.read().rgb))
    return np.concatenate(pictures, axis=1)


def milling(width: int) -> Image:
    """Return a swarm that begins to mill, at four times."""
    pictures = []
    with World_from_config(data_file("config", "swarm/milling.yaml")) as world:
        world.setup()
        for steps in (0, 200, 600, 1600):
            world.evaluate(steps - world.sim.step_count)
            pictures.append(picture(world, width).rgb)
    return np.concatenate(pictures, axis=1)


def warehouse_at_work(path: Path) -> None:
    """Write a film of 100 robots that carry loads between the racks of a warehouse."""
    with fs.MultiRobotSimulationCore.from_yaml(data_file("config", "sites/warehouse.yaml")) as sim:
        # From the twentieth second on: before that, most robots are on their way to their first load.
        times = times_of(20.0, 12.0, 2.0, 12.5)
        # Into the aisles from above.
        near = {"camera_mode": "manual", "camera_distance": 17.0, "camera_yaw": 24.0, "camera_pitch": -48.0}
        size = (720, 406)
        view = sim.view.framed(*size, {**near, "camera_target": [17.0, 12.0, 0.0]})
        film(moments_of_run(sim, times), len(times), path, lambda sim, now: view, size, 12.5)


def rewards(path: Path) -> None:
    """Plot the sums of both rewards of bin picking over an episode of the scripted picker."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    env = Franka2Env({**PICKING, "reward": "shaped"}, max_steps=100)
    state, _ = env.reset(seed=0)
    plain, shaped, ended = [0.0], [0.0], False
    while not ended:
        action = scripted(state[None].astype(float))[0]
        state, reward, terminated, truncated, info = env.step(action * env.action_limits)
        shaped.append(shaped[-1] + reward)
        plain.append(plain[-1] + reward - info["shaping"])
        ended = terminated or truncated
    env.close()
    figure, axes = pyplot.subplots(figsize=(6.0, 2.6), layout="constrained")
    axes.plot(shaped, label="reward: shaped")
    axes.plot(plain, label="default")
    axes.set(xlabel="steps", ylabel="sum of rewards")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=90)


def main() -> None:
    """Write all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "images")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {name: portrait(path, (240, 200)) for name, path in sorted(fs.discover_models("local").items())}
    pictures["camera"] = camera_strip((280, 210))
    pictures["warehouse"] = overview((640, 360))
    pictures["robots"] = robots_sheet((240, 200))
    pictures["scan"] = scans()
    pictures["pick"] = pick_strip((300, 225))
    pictures["milling"] = milling(220)
    site = Warehouse().site()
    pictures["site"] = draw_site(site, 18)
    pictures["route"] = draw_site(site, 18, way=Router(site).plan((2.5, 1.5), (33.5, 6.5), 0.45).points)
    for name, rgb in pictures.items():
        path = folder / f"{name}.png"
        write_png(path, rgb)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    rewards(folder / "rewards.png")
    moving = folder / "warehouse_at_work.gif"
    warehouse_at_work(moving)
    print(f"{moving}: {moving.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
