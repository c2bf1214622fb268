"""`fleet-sim models`: list, show or render robot models to a picture.

What these print and draw is in files of their own, which load only when a command is run.
"""

from __future__ import annotations

import argparse
from typing import Any

from fleet_sim.apps.cli.arguments import check_png
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import write_png
from fleet_sim.models.catalog import TIERS, add_search_path

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
    from fleet_sim.apps.cli.model_pages import print_models

    _search(args)
    print_models(args.tier, as_json=args.json)
    return 0


def _show(args: argparse.Namespace) -> int:
    """Print the page of a model."""
    from fleet_sim.apps.cli.model_pages import print_model

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
    # Loads a simulation, so only once the options are known to be right.
    from fleet_sim.apps.cli.model_pages import picture_of

    write_png(args.file, picture_of(args.model, *args.size, yaw=args.yaw, pitch=args.pitch))
    print(f"picture: {args.file}")
    return 0


def _search(args: argparse.Namespace) -> None:
    for folder in args.path:
        add_search_path(folder)
