"""`fleet-sim new`: write a commented scenario to start from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import check_target, exists, named, write_file

TEMPLATE = """\
# {name}: a hall with two carts, four shuttles, and a porter that fetches a crate.
#
#   fleet-sim run {file}                              run it
#   fleet-sim run {file} --picture {name}.png        ... and save a picture of the end
#   fleet-sim check {file}                            find mistakes
#   ros2 launch fleet_sim fleet.launch.py config:={file} robots:=0   the same on ROS 2
#
# Lengths are in m, times in s, angles in rad. Files are looked for beside this one. Every key and its range:
# fleet-sim schema

simulation:
  timestep: 0.05
  duration: 30                 # the run ends then, on ROS 2 too; 0: until it is stopped
  target_rtf: 0                # simulated seconds per real second; 0: as fast as possible
  seed: 1                      # the same seed gives the same run
  block_on_collision: true     # robots stop in front of what they would hit, walls included
  ignore_static_collision: false   # collisions with walls are counted, too

objects:
  # A wall. What is static never moves; half_extents are half of its length, width and height.
  - name: wall
    pose: [0.0, 4.0, 0.5]
    shape: {{shape_type: box, half_extents: [6.0, 0.1, 0.5], rgba_color: [0.7, 0.7, 0.7, 1.0]}}
    collision_mode: static
  - name: crate
    pose: [-4.0, -3.0, 0.2]
    shape: {{shape_type: box, half_extents: [0.2, 0.2, 0.2], rgba_color: [0.65, 0.42, 0.2, 1.0]}}

robots:
  # Two equal robots, side by side: cart_0 and cart_1. A robot without a model is a simple shape.
  - name: cart
    grid: {{count: 2, columns: 2, spacing: [3.0, 0.0, 0.0]}}
    pose: [-3.0, 2.5, 0.1]
    shape: {{shape_type: box, half_extents: [0.3, 0.2, 0.1], rgba_color: [0.2, 0.5, 0.9, 1.0]}}
    motion_mode: differential
    controller: {{type: random_walk, radius: 1.5, wait_range: [0.5, 2.0], max_linear_vel: 1.0}}

  # These drive in any direction, and avoid each other.
  - name: shuttle
    grid: {{count: 4, columns: 4, spacing: [1.5, 0.0, 0.0]}}
    pose: [-2.5, 0.0, 0.1]
    shape: {{shape_type: cylinder, radius: 0.25, height: 0.2, rgba_color: [0.9, 0.6, 0.1, 1.0]}}
    controller: [{{type: omni, max_linear_vel: 1.5, avoidance: 1.5}}, {{type: random_walk, radius: 2.0}}]

  # A robot with a model and a list of actions. For your own robot: urdf_path: my_robot.urdf
  - name: porter
    urdf_path: diff_base
    pose: [4.0, -3.0, 0.0]
    actions:
      - {{type: pick, target_object_id: crate, pick_offset: 0.8, attach_relative_pose: [0.0, 0.0, 0.4]}}
      - {{type: drop, drop_pose: [4.0, -1.5, 0.2], drop_offset: 0.8}}
      - {{type: move_to, target_pose: [5.0, -3.0, 0.0, 1.5708]}}

# Sensors, batteries, buildings and ROS have keys and sections of their own: see docs/sensors.md, docs/battery.md,
# docs/sites.md and docs/ros.md.
"""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("new", help="write a commented scenario to start from")
    parser.add_argument(
        "name", metavar="NAME", help="name of the scenario, or the file to write, such as my_fleet.yaml"
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Write the file; return 0. Raises InvalidValueError for one that exists or cannot be written."""
    given = Path(args.name)
    # It is written into the file, too.
    if not given.name or not given.name.isprintable():
        raise InvalidValueError(f"{named(args.name)!r} is no name for a scenario")
    # A name is enough; an ending that is given is kept.
    path = given if given.suffix in (".yaml", ".yml") else given.with_name(f"{given.name}.yaml")
    # Before the template is filled, with the same words as other commands.
    check_target(path)
    if exists(path) and not args.force:
        raise InvalidValueError(f"{path} exists; choose another name, or replace it with --force")
    write_file(path, TEMPLATE.format(name=path.stem, file=path))
    print(f"{path}: written. Try: fleet-sim run {path}")
    return 0
