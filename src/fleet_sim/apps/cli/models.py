"""`fleet-sim models`: list, show or render robot models. What reads models is imported only when a command is run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import check_png
from fleet_sim.base.arrays import Bytes
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import write_png
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.catalog import TIERS, add_search_path, discover_models, list_all_models, resolve_urdf

if TYPE_CHECKING:
    from fleet_sim.models import RobotProfile
    from fleet_sim.world.shapes import Geometry, RobotModel

# By PyBullet's numbers.
_JOINT_TYPES = ("revolute", "prismatic", "spherical", "planar", "fixed")


def print_models(tier: str | None, *, as_json: bool) -> None:
    """Print name and tier of each model, and its file or the reason why it is not available: as lines, or as JSON."""
    if tier is None:
        # Two ways of listing: the catalog with its gaps, or all that one place has, known by name or not.
        rows = [(name, str(found["tier"]), _place(found)) for name, found in list_all_models().items()]
    else:
        rows = [(name, tier, path) for name, path in sorted(discover_models(tier).items())]
    if as_json:
        print(json.dumps([dict(zip(("name", "tier", "place"), map(str, row), strict=True)) for row in rows], indent=1))
        return
    name_width, tier_width = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    for name, found_tier, place in rows:
        print(f"{name:{name_width}}  {found_tier:{tier_width}}  {place}")


def print_model(name: str) -> None:
    """Print the links, joints and profile of a model, given by name or path."""
    from fleet_sim.models import load_robot_model, profile_of
    from fleet_sim.world.shapes import BASE

    model = load_robot_model(resolve_urdf(name))
    profile = profile_of(model)
    # A model without masses weighs 0 here, as its file says nothing.
    mass = sum(inertial.mass for inertial in model.inertials)
    print(f"{model.name}: {profile.robot_type}, {model.num_joints + 1} links, {len(model.movable)} of "
          f"{model.num_joints} joints move, {mass:g} kg\n{model.path}\n")  # fmt: skip
    print(f"links\n  {'':>4}  {model.base_name}{_geometries(model, BASE)}")
    for link, link_name in enumerate(model.link_names):
        print(f"  {link:4}  {link_name}{_geometries(model, link)}")
    if model.num_joints:
        print("\njoints")
        _print_joints(model)
    _print_profile(profile)


def _print_joints(model: RobotModel) -> None:
    """Print a line for each joint: number, name, kind, parent link, and its limits as far as the file gives them.

    Positions are in rad or m, velocities in rad/s or m/s, forces in N m or N.
    """
    width = max(map(len, model.joint_names))
    parents = [model.base_name, *model.link_names]
    for joint, name in enumerate(model.joint_names):
        kind = _JOINT_TYPES[model.joint_types[joint]]
        line = f"  {joint:4}  {name:{width}}  {kind:9}  on {parents[model.parents[joint] + 1]}"
        if model.limited_mask[joint]:
            line += f"  [{model.lower[joint]:.4g}, {model.upper[joint]:.4g}]"
        # 0 means that the file says nothing of a limit.
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


def _place(found: dict[str, object]) -> str:
    return str(found["path"]) if found["available"] else f"not available: {found['error']}"


_FOV = 40.0


def picture_of(model: str, width: int, height: int, *, yaw: float = 135.0, pitch: float = -25.0) -> Bytes:
    """Return a picture (height, width, 3) filled by a model, given by name or path; angles in degrees."""
    from fleet_sim.base.geometry import Pose
    from fleet_sim.base.params import SimulationParams
    from fleet_sim.models import load_robot_model
    from fleet_sim.robots.agent import Agent
    from fleet_sim.simulation import MultiRobotSimulationCore

    path = resolve_urdf(model)
    # Loaded for its check: our reader reports file and line of an error, PyBullet does not.
    load_robot_model(path)
    view = {"camera_yaw": yaw, "camera_pitch": pitch, "camera_fov": _FOV, "camera_auto_scale": 0.95}
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        Agent.from_urdf(path, pose=Pose((0.0, 0.0, 0.0)), mass=0.0, use_fixed_base=True, sim_core=sim)
        return sim.draw_picture(width, height, view)


MAX_SIZE = 4096
"""The longest edge of a picture, in pixels."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("models", help="list, show or render robot models")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    lister = actions.add_parser("list", help="list the models known by name")
    lister.add_argument(
        "--tier", choices=TIERS, help="list all models of one source, including those not in the catalog"
    )
    lister.add_argument("--json", action="store_true", help="print the list as JSON")
    lister.set_defaults(command=_list)
    shower = actions.add_parser("show", help="print links, joints, limits and profile of a model")
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
    renderer.add_argument(
        "--pitch",
        type=float,
        default=-25.0,
        help="pitch of the camera in degrees; -90 looks straight down (default: -25)",
    )
    for action in (lister, shower, renderer):
        action.add_argument("--path", action="append", default=[], metavar="DIR", help="a folder to search first")


def _list(args: argparse.Namespace) -> int:
    """Print the list of models."""
    _search(args)
    print_models(args.tier, as_json=args.json)
    return 0


def _show(args: argparse.Namespace) -> int:
    """Print the page of a model."""
    _search(args)
    print_model(args.model)
    return 0


def _render(args: argparse.Namespace) -> int:
    """Save a picture of a model on the floor, seen from its front left."""
    # Folders first: the picture may be of a model that is found there.
    _search(args)
    check_png(args.file)
    if not all(1 <= size <= MAX_SIZE for size in args.size):
        raise InvalidValueError(f"--size: expected a whole number of pixels in [1, {MAX_SIZE}], got {args.size}")
    write_png(args.file, picture_of(args.model, *args.size, yaw=args.yaw, pitch=args.pitch))
    print(f"picture: {args.file}")
    return 0


def _search(args: argparse.Namespace) -> None:
    for folder in args.path:
        add_search_path(folder)
