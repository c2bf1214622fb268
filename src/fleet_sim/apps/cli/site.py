"""`fleet-sim site`: show a site, convert it to another format, generate one, or find a route in it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sized
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.apps.cli.arguments import check_png
from fleet_sim.base.files import check_target, write_png
from fleet_sim.base.params import RouteMode
from fleet_sim.warehouse import sites
from fleet_sim.warehouse.sites.reading import check_suffix

# Their settings are the options of the command.
GENERATORS = {"warehouse": sites.Warehouse, "sortation": sites.SortationFloor}


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("site", help="show, convert or generate a site")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    shower = actions.add_parser("show", help="print the content of a site, or draw it")
    shower.add_argument("--picture", metavar="FILE.png", help="draw the site from above")
    shower.add_argument("--json", action="store_true", help="print the content as JSON")
    shower.set_defaults(command=_show)
    converter = actions.add_parser("convert", help="write a site for fleet_sim, as a map for Nav2, or as LIF")
    converter.add_argument(
        "--to", choices=("site", "map", "lif"), default="site", help="site: everything; map: free space; lif: lanes"
    )
    converter.set_defaults(command=_convert)
    router = actions.add_parser("route", help="find and draw a route around the walls of a site")
    router.set_defaults(command=_route)
    for action in (shower, converter, router):
        action.add_argument("site", metavar="SITE", help="a .map, .scen, .json or .yaml file")
        action.add_argument("--level", help="the level to read, in a building with several")
        action.add_argument("--cell", type=float, help="size of the cells in m, a multiple of the file's")
    for name in ("x", "y", "goal_x", "goal_y"):
        router.add_argument(name, metavar=name.upper(), type=float, help="start and goal, in m in the frame of the map")
    router.add_argument("--radius", type=float, default=0.0, help="radius in m of the robot's footprint (0)")
    router.add_argument("--speed", type=float, default=1.0, help="largest speed in m/s of the robot (1)")
    modes = [mode.value for mode in RouteMode if mode is not RouteMode.NONE]
    router.add_argument(
        "--route", choices=modes, default="auto", help="use lanes (roadmap), free space (grid), or choose (auto)"
    )
    router.add_argument("--picture", metavar="FILE.png", help="draw the route from above")
    maker = actions.add_parser("generate", help="generate a warehouse or a parcel sorting center")
    kinds = maker.add_subparsers(title="kinds", metavar="KIND", required=True)
    for name, config in GENERATORS.items():
        _add_generator(kinds, name, config)
    for action in (converter, *kinds.choices.values()):
        action.add_argument("file", metavar="FILE.yaml", help="the file to write")


def _add_generator(kinds: Any, name: str, config: type[Any]) -> None:
    """Add a kind of site whose options are the settings of `config`, with the same defaults and texts."""
    parser = kinds.add_parser(name, help=(config.__doc__ or "").splitlines()[0])
    for item in fields(config):
        given = item.metadata["setting"]
        default = None if item.default is MISSING else item.default
        parser.add_argument(
            f"--{item.name.replace('_', '-')}", type=type(default), default=default, help=f"{given.doc} ({default})"
        )
    parser.set_defaults(command=_generate, generator=config, kind=name)


def _show(args: argparse.Namespace) -> int:
    """Print a table of what is in the site."""
    # Before the site is read, which may take long.
    if args.picture:
        check_png(args.picture)
    site = sites.read_site(args.site, level=args.level, cell=args.cell)
    if args.json:
        print(json.dumps(content_of(site), indent=1))
    else:
        for name, value in figures_of(site).items():
            print(f"{name:<12} {value}")
    if args.picture:
        write_png(args.picture, sites.draw_site(site))
        print(f"wrote {args.picture}", file=sys.stderr if args.json else sys.stdout)
    return 0


def _route(args: argparse.Namespace) -> int:
    """Print the points of a route, with the speed limits on the way to each."""
    if args.picture:
        check_png(args.picture)
    site = sites.read_site(args.site, level=args.level, cell=args.cell)
    ends = (args.x, args.y), (args.goal_x, args.goal_y)
    # Imported here so that --help answers at once.
    from fleet_sim.warehouse.traffic import Router

    route = Router(site).plan(*ends, args.radius, speed=args.speed, mode=args.route)
    for (x, y), limit in zip(route.points.tolist(), [np.inf, *route.speed_limits.tolist()], strict=True):
        print(f"{x:10.3f} {y:10.3f}" + (f"  at most {limit:g} m/s" if np.isfinite(limit) else ""))
    print(f"length       {route.length:.3f} m, {len(route.points) - 1} straight lines")
    if args.picture:
        write_png(args.picture, sites.draw_site(site, way=route.points))
        print(f"wrote {args.picture}")
    return 0


def content_of(site: sites.Site) -> dict[str, Any]:
    """Return what a site has, for programs; lengths in m."""
    grid, roadmap = site.grid, site.roadmap
    return {
        "site": site.name,
        "size": list(grid.size),
        "cells": [grid.width, grid.height],
        "cell": grid.cell,
        "origin": list(grid.origin),
        "free_cells": len(grid.free_cells),
        "parts": int(grid.regions().max()) + 1,
        "walls": len(site.boxes()),
        "stations": {station.name: station.kind.value for station in site.stations},
        "zones": {zone.name: zone.kind.value for zone in site.zones},
        "doors": [door.name for door in site.doors],
        "nodes": 0 if roadmap is None else len(roadmap.positions),
        "lanes": 0 if roadmap is None else len(roadmap.lanes),
        "starts": len(site.starts),
    }


def figures_of(site: sites.Site) -> dict[str, str]:
    """Return what a site has, as texts by name."""
    grid, regions = site.grid, site.grid.regions()
    # Cells that are not free have no region.
    sizes = np.bincount(regions[regions >= 0])
    parts, largest = len(sizes), int(sizes.max(initial=0))
    found = {
        "site": site.name,
        "size": f"{grid.size[0]:g} x {grid.size[1]:g} m, {grid.width} x {grid.height} cells of {grid.cell:g} m",
        "origin": ", ".join(f"{value:g}" for value in grid.origin),
        "free": f"{len(grid.free_cells)} cells in {parts} part{'s' * (parts != 1)}, {largest} in the largest",
        # Walls of a site without its own are its blocked cells, in few boxes.
        "walls": f"{len(site.boxes())} boxes",
    }
    counts = {kind.value: len(site.stations_of(kind)) for kind in sites.StationKind}
    if site.stations:
        found["stations"] = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    if site.zones:
        found["zones"] = ", ".join(f"{zone.name} ({zone.kind.value})" for zone in site.zones)
    if site.doors:
        found["doors"] = ", ".join(door.name for door in site.doors)
    if site.roadmap is not None:
        length = float(np.sum(site.roadmap.lengths))
        lanes = len(site.roadmap.lanes)
        found["roadmap"] = f"{len(site.roadmap.positions)} nodes, {lanes} lanes, {length:.0f} m in all"
    if len(site.starts):
        found["starts"] = f"{len(site.starts)}" + (", each with a goal" if len(site.goals) else "")
    return found


def _convert(args: argparse.Namespace) -> int:
    """Write the site in another format."""
    site = sites.read_site(args.site, level=args.level, cell=args.cell)
    if args.to == "lif":
        check_target(args.file)
        sites.write_lif(site, args.file)
        print(f"wrote {args.file}; LIF has nodes, edges and stations only")
        return 0
    _check_yaml(args.file)
    if args.to == "map":
        sites.write_map(site.open_grid, args.file)
        print(f"wrote {args.file} and {Path(args.file).with_suffix('.png')}")
        lost = _not_in_maps(site)
        if lost:
            print(f"a map has only free space; not in it: {', '.join(lost)}")
        return 0
    sites.write_site(site, args.file)
    print(f"wrote {args.file}")
    return 0


def _not_in_maps(site: sites.Site) -> list[str]:
    """Return what of a site a map for map_server cannot hold. No-go zones are in it, as blocked cells."""
    parts: dict[str, Sized] = {
        "stations": site.stations,
        "zones": [zone for zone in site.zones if zone.kind is not sites.ZoneKind.NO_GO],
        "doors": site.doors,
        "starts": site.starts,
        "goals": site.goals,
    }
    found = [f"{len(things)} {name}" for name, things in parts.items() if len(things)]
    if site.walls is not None:
        found.append("walls finer than cells")
    return found if site.roadmap is None else [*found, "the roadmap"]


def _generate(args: argparse.Namespace) -> int:
    """Write a generated site."""
    _check_yaml(args.file)
    settings = {item.name: getattr(args, item.name) for item in fields(args.generator)}
    # A generated site is called as its file.
    site = args.generator(**settings).site(Path(args.file).stem)
    sites.write_site(site, args.file)
    for name, value in figures_of(site).items():
        print(f"{name:<12} {value}")
    print(f"wrote {args.file}")
    return 0


def _check_yaml(path: str) -> None:
    check_suffix(path)
    check_target(path)
