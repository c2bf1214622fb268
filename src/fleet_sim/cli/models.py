"""`fleet-sim models`: list the robot models, show the content of one, or render one to a picture."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.cli.arguments import check_png
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.robot_model import BASE, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.images import write_png
from fleet_sim.models import (
    RobotProfile,
    add_search_path,
    discover_models,
    list_all_models,
    load_robot_model,
    profile_of,
    resolve_urdf,
)
from fleet_sim.models.tiers import TIERS
from fleet_sim.spatial.shapes import ShapeKind

MAX_SIZE = 4096
"""The longest edge of a picture, in pixels."""

_JOINT_TYPES = ("revolute", "prismatic", "spherical", "planar", "fixed")
_FOV = 40.0
# Pictures are rendered this many times larger and averaged, because PyBullet's renderer does not smooth edges.
_OVERSAMPLING = 2


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("models", help="list the robot models, show the content of one, or render one")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    lister = actions.add_parser("list", help="the models known by name")
    lister.add_argument("--tier", choices=TIERS, help="all models of one place, including those not in the catalog")
    lister.set_defaults(command=_list)
    shower = actions.add_parser("show", help="links, joints, limits and profile of a model")
    shower.set_defaults(command=_show)
    renderer = actions.add_parser("render", help="save a picture of a model")
    renderer.set_defaults(command=_render)
    for action in (shower, renderer):
        action.add_argument("model", metavar="NAME", help="a name, or the path of a URDF, xacro, SDF or MJCF file")
    renderer.add_argument("file", metavar="FILE.png", help="the picture to write")
    renderer.add_argument(
        "--size", type=int, nargs=2, default=(640, 480), metavar=("W", "H"), help="size of the picture in pixels"
    )
    renderer.add_argument("--yaw", type=float, default=135.0, help="heading of the camera in degrees (default: 135)")
    renderer.add_argument("--pitch", type=float, default=-25.0, help="-90 looks straight down (default: -25)")
    for action in (lister, shower, renderer):
        action.add_argument("--path", action="append", default=[], metavar="DIR", help="a folder to search first")


def _list(args: argparse.Namespace) -> int:
    """Print one line per model: name, tier, and its file or the reason why it is not available."""
    _search(args)
    if args.tier is None:
        rows = [(name, str(found["tier"]), _place(found)) for name, found in list_all_models().items()]
    else:
        rows = [(name, args.tier, path) for name, path in sorted(discover_models(args.tier).items())]
    name_width, tier_width = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    for name, tier, place in rows:
        print(f"{name:{name_width}}  {tier:{tier_width}}  {place}")
    return 0


def _show(args: argparse.Namespace) -> int:
    """Print the links, joints and profile of a model."""
    _search(args)
    model = load_robot_model(resolve_urdf(args.model))
    profile = profile_of(model)
    mass = sum(inertial.mass for inertial in model.inertials)
    print(f"{model.name}: {profile.robot_type}, {model.num_joints + 1} links, {len(model.movable)} of "
          f"{model.num_joints} joints move, {mass:g} kg\n{model.path}\n")  # fmt: skip
    print(f"links\n  {'':>4}  {model.base_name}{_geometries(model, BASE)}")
    for link, name in enumerate(model.link_names):
        print(f"  {link:4}  {name}{_geometries(model, link)}")
    if model.num_joints:
        print("\njoints")
        _print_joints(model)
    _print_profile(profile)
    return 0


def _print_joints(model: RobotModel) -> None:
    width = max(map(len, model.joint_names))
    parents = [model.base_name, *model.link_names]
    for joint, name in enumerate(model.joint_names):
        kind = _JOINT_TYPES[model.joint_types[joint]]
        line = f"  {joint:4}  {name:{width}}  {kind:9}  on {parents[model.parents[joint] + 1]}"
        if model.limited_mask[joint]:
            line += f"  [{model.lower[joint]:.4g}, {model.upper[joint]:.4g}]"
        if model.max_velocities[joint]:
            line += f"  {model.max_velocities[joint]:.4g} {'m' if kind == 'prismatic' else 'rad'}/s"
        if model.max_forces[joint]:
            line += f"  {model.max_forces[joint]:.4g} {'N' if kind == 'prismatic' else 'N m'}"
        print(line)


def _print_profile(profile: RobotProfile) -> None:
    if profile.ee_link_name is not None:
        reach = f", reach {profile.reach:.2f} m" if profile.reach is not None else ""
        print(f"\nend effector  {profile.ee_link_name} (link {profile.ee_link_index}){reach}")
    if profile.arm_joint_names:
        print(f"arm           {', '.join(profile.arm_joint_names)}")
    if profile.wheel_joint_names:
        print(f"wheels        {', '.join(profile.wheel_joint_names)}")


def _render(args: argparse.Namespace) -> int:
    """Save a picture of a model on the floor, seen from its front left."""
    _search(args)
    check_png(args.file)
    if not all(1 <= size <= MAX_SIZE for size in args.size):
        raise InvalidValueError(f"--size: expected a whole number of pixels in [1, {MAX_SIZE}], got {args.size}")
    write_png(args.file, picture_of(args.model, *args.size, yaw=args.yaw, pitch=args.pitch))
    print(f"picture: {args.file}")
    return 0


def picture_of(model: str, width: int, height: int, *, yaw: float = 135.0, pitch: float = -25.0) -> Bytes:
    """Return a picture (height, width, 3) filled by a model, given by name or path; angles in degrees."""
    path = resolve_urdf(model)
    # Loaded for its check: our reader reports file and line of an error, PyBullet does not.
    load_robot_model(path)
    # Imported here so that the other commands and --help do not wait for it.
    from fleet_sim.simulation import MultiRobotSimulationCore

    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        Agent.from_urdf(path, pose=Pose((0.0, 0.0, 0.0)), mass=0.0, use_fixed_base=True, sim_core=sim)
        body = sim.agents[0].body_id
        links = range(BASE, sim.bullet.getNumJoints(body))
        # Link by link: PyBullet's box of a body is that of its base alone.
        boxes = np.array([sim.bullet.getAABB(body, link) for link in links])
        view = _view(boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0), width / height, yaw, pitch)
        return _averaged(sim.take_picture(_OVERSAMPLING * width, _OVERSAMPLING * height, view).rgb)


def _view(lower: Floats, upper: Floats, aspect: float, yaw: float, pitch: float) -> dict[str, object]:
    """Return the camera section that frames a box with corners (3,), (3,)."""
    # The box's bounding sphere of radius r touches the edge of a picture with half angle a from distance r / sin(a).
    radius = 0.5 * float(np.linalg.norm(upper - lower))
    half = math.radians(0.5 * _FOV)
    narrow = half if aspect >= 1.0 else math.atan(aspect * math.tan(half))
    return {
        "camera_mode": "manual",
        "camera_distance": max(0.2, radius / math.sin(narrow)),
        "camera_yaw": yaw,
        "camera_pitch": pitch,
        "camera_target": (0.5 * (lower + upper)).tolist(),
        "camera_fov": _FOV,
    }


def _averaged(rgb: Bytes) -> Bytes:
    height, width = (size // _OVERSAMPLING for size in rgb.shape[:2])
    blocks = rgb.reshape(height, _OVERSAMPLING, width, _OVERSAMPLING, 3)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)


def _search(args: argparse.Namespace) -> None:
    for folder in args.path:
        add_search_path(folder)


def _place(found: dict[str, object]) -> str:
    return str(found["path"]) if found["available"] else f"not available: {found['error']}"


def _geometries(model: RobotModel, link: int) -> str:
    shapes = [_describe(part.geometry) for part in model.collisions if part.link == link]
    return f"  ({', '.join(shapes)})" if shapes else ""


def _describe(geometry: Geometry) -> str:
    kind = ShapeKind(geometry.kind).name.lower()
    if geometry.kind == ShapeKind.BOX:
        return f"{kind} {' x '.join(f'{2.0 * half:.4g}' for half in geometry.half_extents)}"
    if geometry.kind == ShapeKind.MESH:
        return f"{kind} {Path(geometry.mesh_path).name}"
    return f"{kind} {geometry.radius:.4g}" + (f" x {geometry.height:.4g}" if geometry.kind != ShapeKind.SPHERE else "")
