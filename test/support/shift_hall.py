"""A hall of 60 x 40 m with 80 robots of two kinds and orders for a shift, as a scenario: `python shift_hall.py FOLDER`.

14 one-way aisles of 1 m with 8 shelf places each, 3 picking stations, 2 packing desks, 12 chargers.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, Zone, ZoneKind, write_site

AISLES, BEGIN, END = range(4, 60, 4), 10, 30
"""The columns of the aisles, and the rows between which their racks stand."""
TOTE = {"shape_type": "box", "half_extents": [0.3, 0.25, 0.15], "rgba_color": [0.95, 0.55, 0.1, 1.0]}
HEAVY = {"shape_type": "box", "half_extents": [0.36, 0.3, 0.15], "rgba_color": [0.1, 0.45, 0.85, 1.0]}


def hall() -> Site:
    """The building: racks stand between the aisles, which lead up and down in turns."""
    free = np.zeros((40, 60), bool)
    free[1:-1, 1:-1] = True
    free[BEGIN:END, 3:58] = False
    free[BEGIN:END, AISLES] = True
    places = [(StationKind.PICK, x, y) for x in AISLES for y in (11, 13, 16, 18, 21, 23, 26, 28)]
    stations = [Station(f"shelf_{i}", kind, x + 0.5, y + 0.5) for i, (kind, x, y) in enumerate(places)]
    stations += [Station(f"picking_{i}", StationKind.WORKSTATION, x + 0.5, 1.5) for i, x in enumerate((10, 30, 50))]
    stations += [Station(f"packing_{i}", StationKind.DROP, x + 0.5, 1.5) for i, x in enumerate((20, 40))]
    stations += [Station(f"charger_{i}", StationKind.CHARGE, x + 0.5, 38.5) for i, x in enumerate(range(8, 56, 4))]
    ways = [np.pi / 2, -np.pi / 2] * 7
    zones = [
        Zone(
            f"aisle_{i}",
            ZoneKind.ONE_WAY,
            np.array([(x, BEGIN), (x + 1, BEGIN), (x + 1, END), (x, END)]),
            direction=way,
        )
        for i, (x, way) in enumerate(zip(AISLES, ways, strict=True))
    ]
    return Site("hall", Grid(free[::-1], cell=1.0), stations=tuple(stations), zones=tuple(zones))


def orders(rates: tuple[float, ...], seed: int) -> list[dict[str, Any]]:
    """Orders at `rates` per hour, hour after hour: from a shelf to a packing desk, every third by a picking station."""
    random = np.random.default_rng(seed)
    found = []
    for hour, rate in enumerate(rates):
        for release in np.sort(random.uniform(0.0, 3600.0, round(rate))) + 3600.0 * hour:
            stops = [f"shelf_{random.integers(112)}", f"packing_{random.integers(2)}"]
            if random.random() < 1 / 3:
                stops.insert(1, f"picking_{random.integers(3)}")
            load = random.uniform(40.0, 150.0) if random.random() < 0.15 else random.uniform(1.0, 20.0)
            found.append({"stops": "|".join(stops), "load": round(load, 1), "release": round(release, 1)})
            found[-1]["due"] = round(release + 900.0, 1)
    return found


def shift_hall(folder: Path, rates: tuple[float, ...] = (500.0, 500.0), seed: int = 1, **more: Any) -> dict[str, Any]:
    """Write the hall and its orders into `folder`, and return the scenario with further sections `more`."""
    write_site(hall(), folder / "hall.yaml")
    with (folder / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["stops", "load", "release", "due"])
        table.writeheader()
        table.writerows(orders(rates, seed))
    drive = {"type": "differential", "max_angular_vel": 2.5, "max_angular_accel": 5.0}
    battery = {"capacity_wh": 400, "level": 0.8, "idle_power": 20, "drive_energy": 60, "charge_power": 2000}
    robots = [
        {"name": name, "at": {"site": "free", "count": count, "seed": first, "clearance": 0.5}, "shape": shape}
        | {"pose": [0.0, 0.0, 0.15], "battery": battery, "orders": {"max_load": most}}
        | {"controller": {**drive, "max_linear_vel": speed, "max_linear_accel": accel}}
        for name, count, first, shape, most, speed, accel in (
            ("tote", 60, 1, TOTE, 30, 1.8, 1.5),
            ("heavy", 20, 2, HEAVY, 500, 1.1, 0.7),
        )
    ]
    return {
        "simulation": {"gui": False, "monitor": False, "timestep": 0.25, "target_rtf": 0, "seed": seed},
        "site": {"map": str(folder / "hall.yaml"), "wall_height": 1.8},
        "robots": robots,
        "traffic": {"planner": "pibt", "period": 1.0, "radius": 0.475},
        "orders": {
            "file": str(folder / "orders.csv"),
            "service": {"pick_time": 6, "stop_time": 6, "drop_time": 6},
            "charging": {"policy": "opportunity"},
        },
        **more,
    }


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    (where / "hall_scenario.yaml").write_text(yaml.safe_dump(shift_hall(where), sort_keys=False), encoding="utf-8")
