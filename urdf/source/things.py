"""The bundled things that robots handle and work at. All stand on z = 0 of their base_link."""

from __future__ import annotations

from parts import Robot, box, cylinder


def pallet() -> Robot:
    """A pallet of boards; forks go in along x."""
    robot = Robot("pallet", "A pallet of 1.2 x 0.8 x 0.144 m. Its boards are seen; a deck and three runners collide.")
    rows = ((-0.35, 0.1), (0.0, 0.145), (0.35, 0.1))
    columns = (-0.53, 0.0, 0.53)
    runners = [box(1.2, width, 0.1, (0.0, y, 0.05), seen=False) for y, width in rows]
    deck = box(1.2, 0.8, 0.044, (0.0, 0.0, 0.122), seen=False)
    boards = [box(1.2, width, 0.022, (0.0, y, 0.011), "wood", collides=False) for y, width in rows]
    boards += [box(0.14, 0.8, 0.022, (x, 0.0, 0.111), "wood", collides=False) for x in columns]
    boards += [
        box(1.2, 0.095, 0.022, (0.0, -0.3525 + 0.1175 * place, 0.133), "wood", collides=False) for place in range(7)
    ]
    blocks = [box(0.14, width, 0.078, (x, y, 0.061), "carton", collides=False) for y, width in rows for x in columns]
    robot.link("base_link", 22.0, *runners, deck, *boards, *blocks, friction=0.6)
    return robot


def shelf() -> Robot:
    """A shelf with four boards."""
    robot = Robot("shelf", "A shelf of 0.5 x 1.2 x 1.7 m; its boards are at 0.1, 0.6, 1.1 and 1.6 m, open along x.")
    heights = (0.1, 0.6, 1.1, 1.6)
    posts = [box(0.04, 0.04, 1.7, (x, y, 0.85), "blue") for x in (-0.23, 0.23) for y in (-0.58, 0.58)]
    boards = [box(0.5, 1.2, 0.024, (0.0, 0.0, z - 0.012), "wood") for z in heights]
    sides = [(x, z) for x in (-0.24, 0.24) for z in heights]
    beams = [box(0.02, 1.12, 0.06, (x, 0.0, z - 0.054), "orange", collides=False) for x, z in sides]
    robot.link("base_link", 60.0, *posts, *boards, *beams, friction=0.6)
    return robot


def station() -> Robot:
    """A work place where robots hand over; they come from +x."""
    robot = Robot("station", "A hand-over table of 0.6 x 1.0 x 0.7 m with a back wall and a signal light.")
    legs = [box(0.05, 0.05, 0.66, (x, y, 0.33), "graphite") for x in (-0.26, 0.26) for y in (-0.46, 0.46)]
    lights = [
        cylinder(0.03, 0.06, (-0.26, 0.44, z), color=color)
        for z, color in ((1.33, "green"), (1.39, "orange"), (1.45, "red"))
    ]
    robot.link(
        "base_link", 45.0, *legs, *lights,
        box(0.6, 1.0, 0.04, (0.0, 0.0, 0.68), "silver"),
        box(0.4, 0.7, 0.002, (0.04, 0.0, 0.701), "green", collides=False),
        box(0.02, 1.0, 0.5, (-0.29, 0.0, 0.95), "white"),
        cylinder(0.012, 0.62, (-0.26, 0.44, 1.0), color="graphite"),
        friction=0.6,
    )  # fmt: skip
    robot.frame("place_link", "base_link", (0.04, 0.0, 0.702))
    return robot


def carton() -> Robot:
    """A box as it stands on shelves and pallets."""
    robot = Robot("box", "A carton of 0.3 x 0.2 x 0.15 m, 1.5 kg.")
    robot.link("base_link", 1.5, box(0.3, 0.2, 0.15, (0.0, 0.0, 0.075), "carton"),
               box(0.302, 0.05, 0.1504, (0.0, 0.0, 0.0753), "tape", collides=False), friction=0.6)  # fmt: skip
    return robot


def cube() -> Robot:
    """A small thing for a gripper."""
    robot = Robot("cube", "A cube of 0.05 m, 0.1 kg, that a gripper can hold.")
    robot.link("base_link", 0.1, box(0.05, 0.05, 0.05, (0.0, 0.0, 0.025), "red"), friction=0.8)
    return robot


def small_bin() -> Robot:
    """A bin for small things, open at the top."""
    robot = Robot("bin", "A bin of 0.16 x 0.16 x 0.04 m inside, with walls of 4 mm; its frame is under its middle.")
    wall, inside, height = 0.004, 0.16, 0.04
    reach = 0.5 * (inside + wall)
    floor = box(inside + 2 * wall, inside + 2 * wall, wall, (0.0, 0.0, 0.5 * wall), "graphite")
    upright = wall + 0.5 * height
    ends = [box(wall, inside + 2 * wall, height, (x, 0.0, upright), "graphite") for x in (-reach, reach)]
    sides = [box(inside, wall, height, (0.0, y, upright), "graphite") for y in (-reach, reach)]
    robot.link("base_link", 0.6, floor, *ends, *sides, friction=0.6)
    return robot
