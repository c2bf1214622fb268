"""Documents made of building blocks: each troublesome value at each place. They are read, or refused with a reason.

What is made by hand finds what mutants do not: tags, expressions, includes and references that mean something.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.apps.cli.check import check
from fleet_sim.base.errors import LONGEST_MESSAGE, FleetSimError
from fleet_sim.base.scenario import as_scenario
from fleet_sim.base.settings import load_mapping

NUMBERS = (
    *("!!int abc", "!!float abc", "!!bool abc", '!!int ""', "2001-99-99", "2001-01-01", "9" * 6000, "0x" + "f" * 5000),
    *("1e400", ".nan", ".inf", "-.inf", "1e155", "-1.0e+308", "5.0e-324", "2147483648", "9223372036854775808", "-1"),
    *("1_0", "60:60:60", "0b2", "0o9", "true", "~", "1e", "+", "1.5", "0"),
)
TAGS = (
    *("!!binary '%%%'", "!!timestamp x", "!!set {a, b}", "!!omap [a]", "!!pairs [a]", "!!null x", "!!str [a]"),
    *("!!python/object:os.system []", "!!python/name:os.system ''", "!unknown x", "!!map [a]", "!!seq {a: 1}"),
)
EXPRESSIONS = (
    *("!np 9**9**9", "!np ((((9**64)**64)**64)**64)**64", "!np __import__('os')", "!np (1).__class__", "!np 1/0"),
    *("!np sqrt(-1)", "!np 'a'*10**9", "!np lambda: 1", "!np [x for x in 1]", "!np ''", "!np pi", "!np -2**0.5"),
)
FILES = (
    *("!include /dev/zero", "!include /etc/passwd", "!include nobody.yaml", '!include "\\0"', "!include [a]"),
    *("!include .", "!include {}", "!relpath ../../x", "!include doc.yaml", "!include ''", "/dev/zero", "../../etc"),
)
SHAPES = (
    *("[" * 300 + "]" * 300, "{a: " * 300 + "1" + "}" * 300, "[[]]", "[{}]", "{}", "[]", "[1, 2, 3]", "{type: box}"),
    *("*nowhere", "&a [*a]", "&a {b: *a}", "{? [1] : 2}", "{[1]: 2}", "{{}: 1}", "{1: 2}", "{null: 1}"),
    *("{<<: 1}", "{<<: [1]}", "{<<: {<<: 2}}", "{<<: &b {<<: *b}}", "{a: 1, a: 2}"),
)
TEXTS = (
    *(
        "''",
        "x",
        '"\\ud800"',
        '"\\U00110000"',
        '"\\0"',
        "x" * 5000,
        '"%s%n{}{0}"',
        "\N{LINE SEPARATOR}",
        "a: b: c",
        "\t",
    ),
    *("'${x}'", "'{{ x }}'", "this.X", "os.system", ".x.y", "fleet_sim.MoveTo", "none", "all"),
)
VALUES = (*NUMBERS, *TAGS, *EXPRESSIONS, *FILES, *SHAPES, *TEXTS)

PLACES = (
    *("@", "x: @", "- @", "@: x", "? @\n: x", "a: &a @\nb: {<<: *a}\nc: [*a, *a]", "a: [1, 2\nb: @", "--- @\n--- @"),
    *("simulation: @", "simulation: {timestep: @}", "simulation: {seed: @}", "simulation: {world_extent: @}"),
    *("robots: @", "robots: [@]", "robots: [{name: @}]", "robots: [{name: r, pose: @}]"),
    *("robots: [{name: r, pose: [@, 0, 0]}]", "robots: [{name: r, visual_shape: @}]"),
    *("robots: [{name: r, shape: @}]", "robots: [{name: r, shape: {shape_type: box, half_extents: [@, 1, 1]}}]"),
    *("robots: [{name: r, grid: {count: @}}]", "robots: [{name: r, grid: {count: 2, columns: @}}]"),
    *("robots: [{name: r, controller: {type: @}}]", "robots: [{name: r, controller: {class: @}}]"),
    *("robots: [{name: r, sensors: [{type: @}]}]", "robots: [{name: r, sensors: [{type: lidar, rays: @}]}]"),
    *("robots: [{name: r, urdf_path: @}]", "robots: [{name: r, battery: {capacity_wh: @}}]"),
    *("robots: [{name: r, actions: [{type: wait, duration: @}]}]", "robots: [{name: r, actions: [{type: @}]}]"),
    *("objects: [{name: o, mass: @}]", "robots: [{name: r, user_data: @}]", "site: @", "traffic: {planner: @}"),
    *(
        "orders: @",
        "doors: @",
        "lifts: @",
        "conveyors: @",
        "lights: @",
        "ros: {rates: {odom: @}}",
        "ros: {per_robot: @}",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_each_value_at_a_place_is_read_or_refused(place: str, tmp_path: Path) -> None:
    file = tmp_path / "doc.yaml"
    refused = []
    for value in VALUES:
        file.write_text(place.replace("@", value), encoding="utf-8", errors="surrogatepass")
        try:
            scenario = as_scenario(load_mapping(file))
            check(scenario, str(file))
        except FleetSimError as error:
            refused.append(str(error))
    assert all(0 < len(reason) <= LONGEST_MESSAGE for reason in refused)
    assert len(refused) > len(VALUES) / 4
