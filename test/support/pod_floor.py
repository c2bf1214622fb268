"""A small floor with pods, and an independent look at where pods and robots are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.warehouse.orders import Orders
from fleet_sim.warehouse.orders.pods.pods import (
    MostLines,
    NearestPlace,
    PodRequest,
    ReplenishRequest,
    ReplenishThreshold,
    StorageRequest,
)

MAP = """
site: pod_floor
cell: 1.0
rows: |
  ............
  ............
  ............
  ............
  .....@......
  ............
  ............
  ............
  ............
stations:
  - {name: left, kind: workstation, at: [0.5, 2.5]}
  - {name: right, kind: workstation, at: [0.5, 6.5]}
  - {name: goods_in, kind: pick, at: [11.5, 4.5]}
  - {name: plug, kind: charge, at: [11.5, 8.5]}
"""
STORAGE = [[3, 1, 9, 3], [3, 6, 9, 8]]
"""24 places on both sides of an aisle; a wall is at (5.5, 4.5)."""

ROBOT: dict[str, Any] = {
    "name": "amr",
    "at": {"site": "free", "count": 6, "seed": 1},
    "pose": [0.0, 0.0, 0.15],
    "shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3},
    "controller": {"type": "differential", "max_linear_vel": 1.5, "max_angular_vel": 3.0},
}
TIMES = {"lift_time": 1, "item_time": 1, "visit_time": 1}


def scenario(folder: Path, pods: dict[str, Any], **values: Any) -> fs.MultiRobotSimulationCore:
    """Return a floor with the settings `pods`; `values` are further sections, and keys of those below."""
    (folder / "floor.yaml").write_text(MAP)
    orders = {"pods": {"storage": STORAGE, **TIMES, **pods}, **values.pop("orders", {})}
    simulation = {"gui": False, "timestep": 0.2, "target_rtf": 0, "ignore_static_collision": False, "seed": 1}
    content = {
        "simulation": {**simulation, **values.pop("simulation", {})},
        "site": "floor.yaml",
        "robots": [{**ROBOT, **values.pop("robot", {})}],
        "traffic": {"radius": 0.46, "period": 0.6, **values.pop("traffic", {})},
        "orders": orders,
        **values,
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    return fs.MultiRobotSimulationCore.from_yaml(path)


class PodWatch:
    """Looks at each step, from the places of bodies alone, whether anything is where it must not be."""

    def __init__(self, sim: fs.MultiRobotSimulationCore) -> None:
        self.orders: Orders = sim.get_manager("orders")
        self._sim = sim
        self.clock = sim.clock
        assert self.orders.pods is not None
        self._pods = [sim.get_object(name) for name in self.orders.pods.shelves.names]
        self._reach = float(np.hypot(0.325, 0.325))
        self.under = 0
        """How often a robot was under a standing pod."""
        self.lifted: set[str] = set()
        self.started: list[Any] = []
        sim.events.on("collision_started", lambda **pair: self.started.append(pair))

    def step(self) -> None:
        """Make a step and look."""
        self._sim.step_once()
        world = self._sim.world
        rows = np.array([pod.row for pod in self._pods])
        places = world.position[rows, :2]
        carriers = world.parent[rows]
        carried_mask = carriers >= 0
        standing = places[~carried_mask]
        cells = np.floor(standing).astype(int)
        assert len(np.unique(cells, axis=0)) == len(cells), "two pods on one cell"
        assert np.abs(standing - cells - 0.5).max(initial=0.0) < 1e-6, "a pod that is not in the middle of its cell"
        self.lifted.update(pod.name for pod, lifted in zip(self._pods, carried_mask, strict=True) if lifted)
        gaps = _gaps(places)
        assert not len(gaps) or gaps[carried_mask].min(initial=np.inf) >= 2.0 * self._reach - 1e-6, "pods touch"
        robots = np.array([agent.row for agent in self._sim.agents])
        loaded_mask = np.isin(robots, carriers[carried_mask])
        own = np.floor(world.position[robots, :2]).astype(int)
        shares_mask = (own[:, None] == cells[None]).all(axis=2).any(axis=1)
        assert not (loaded_mask & shares_mask).any(), "a loaded robot is on the cell of a standing pod"
        self.under += int(shares_mask.sum())
        assert _gaps(world.position[robots, :2]).min() >= 0.6 - 1e-6, "robots touch"
        self._count()

    def _count(self) -> None:
        figures = self.orders.figures()["pods"]["stock"]
        parts = [figures[name] for name in ("on_pods", "coming", "picked", "gone")]
        assert sum(parts) == figures["supplied"]
        assert min(parts) >= 0


class Recorded(ReplenishThreshold):
    """Orders as `threshold` does, and remembers how much."""

    ordered = 0

    def order(self, request: ReplenishRequest) -> Ints:
        counts = super().order(request)
        Recorded.ordered += int(counts.sum())
        return counts


class FirstPod:
    """A pod choice of somebody's own."""

    asked: list[PodRequest] = []  # noqa: RUF012

    def choose(self, request: PodRequest) -> int:
        self.asked.append(request)
        return 0


class Watched:
    """Policies that answer as the built-in ones, and show each request to `look` before."""

    look: ClassVar[Callable[[Any], object]]


class WatchedPod(MostLines, Watched):
    def choose(self, request: PodRequest) -> int:
        Watched.look(request)
        return super().choose(request)


class WatchedPlace(NearestPlace, Watched):
    def choose(self, request: StorageRequest) -> int:
        Watched.look(request)
        return super().choose(request)


class WatchedStock(ReplenishThreshold, Watched):
    def order(self, request: ReplenishRequest) -> Ints:
        Watched.look(request)
        return super().order(request)


class Nowhere:
    """A storage policy that finds no place at first."""

    asked = 0

    def choose(self, request: StorageRequest) -> int:
        Nowhere.asked += 1
        return -1 if Nowhere.asked < 4 else request.original


class Wrong:
    """Policies that answer nonsense."""

    def choose(self, request: object) -> int:
        return 10_000

    def order(self, request: object) -> list[str]:
        return ["many"]


def _gaps(points: Floats) -> Floats:
    """Return the distance of each point (K, 2) from each other one."""
    gaps = np.sqrt(np.square(points[:, None] - points[None]).sum(axis=2))
    gaps[np.arange(len(points)), np.arange(len(points))] = np.inf
    return gaps
