"""What is written under `orders:`, in the entry of a robot and as a section of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fleet_sim.config.modes import Mode
from fleet_sim.orders.order import HEAVIEST, Order
from fleet_sim.orders.pods.settings import PodsSettings
from fleet_sim.orders.sources.arrivals import ArrivalSettings
from fleet_sim.settings import Checked, setting, time_setting


@dataclass
class OrderRobotSettings(Checked):
    """A robot that serves orders."""

    max_load: float = setting(100.0, low=0.0, high=HEAVIEST, unit="kg", doc="The heaviest load it takes.")
    loaded_speed: float = setting(
        1.0, low=0.01, high=1.0, doc="Share of its largest speed that it drives at with a load; 1: as without."
    )


@dataclass
class LoadSettings(Checked):
    """The boxes that stand for loads: on a robot from its first stop to its last one, then at the station."""

    size: tuple[float, float, float] = setting(
        (0.4, 0.3, 0.25), low=0.01, high=100.0, unit="m", doc="Length, width and height."
    )
    color: tuple[float, float, float, float] = setting(
        (0.8, 0.55, 0.25, 1.0), low=0.0, high=1.0, doc="Red, green, blue and opacity."
    )
    remain: float = time_setting(5.0, doc="How long a box stays where it was put down, before it is taken away.")
    collides: bool = setting(False, doc="Whether boxes collide, and count in the footprint of robots that carry them.")


@dataclass
class ServiceSettings(Checked):
    """What happens at stops, where orders say nothing else."""

    pick_time: float = time_setting(5.0, doc="Taken to load at the first stop.")
    stop_time: float = time_setting(5.0, doc="Taken at stops in between.")
    drop_time: float = time_setting(5.0, doc="Taken to unload at the last stop.")
    at_once: int = setting(1, low=1, high=1000, doc="Robots that a station serves at once; others wait for their turn.")


@dataclass
class AllocationSettings(Checked):
    """Who serves what."""

    type: str = setting("nearest", doc="nearest, hungarian, auction, or package.module:Class.")
    period: float = time_setting(1.0, doc="Between allocations; 0: in each step.")
    queue: int = setting(1, low=1, high=1000, doc="Orders that a robot may have, the one that it serves included.")
    consider: int = setting(400, low=1, high=100_000, doc="Waiting orders that are looked at, the most urgent ones.")
    waiting_weight: float = setting(
        0.0, low=0.0, high=1e6, unit="m/s", doc="How many metres of way a second of waiting makes up for."
    )
    options: dict[str, Any] = setting(factory=dict, doc="Settings of the allocator itself.")


@dataclass
class ChargingSettings(Checked):
    """When robots with batteries charge. Chargers are the stations of the kind charge."""

    policy: str = setting("threshold", doc="threshold, opportunity, or package.module:Class.")
    options: dict[str, Any] = setting(factory=dict, doc="Settings of the policy itself.")
    period: float = time_setting(5.0, above=0.0, doc="Between looks at the batteries.")


class WhenIdle(Mode):
    """What a robot does that has nothing to do: stay where it is, or park at a station of the kind park."""

    STAY = "stay"
    PARK = "park"


Entries = list[Order]
Streams = list[ArrivalSettings]


@dataclass
class OrdersSettings(Checked):
    """The orders of a scenario, and how they are served."""

    list: Entries = setting(factory=lambda: [], doc="Orders.")
    file: str | None = setting(None, doc="CSV file with orders, beside this one or in the working folder.")
    tasks: str | None = setting(
        None, doc="Problem of the League of Robot Runners, found in the same way, whose tasks are orders."
    )
    arrivals: Streams = setting(factory=lambda: [], doc="Orders that come at random.")
    allocation: AllocationSettings = setting(factory=AllocationSettings, doc="Who serves what.")
    service: ServiceSettings = setting(factory=ServiceSettings, doc="What happens at stops.")
    load: LoadSettings = setting(factory=LoadSettings, doc="The boxes that stand for loads.")
    pods: PodsSettings | None = setting(
        None, doc="Shelves with stock that robots carry to workstations (goods to person); null: there are none."
    )
    robot: OrderRobotSettings | None = setting(
        factory=OrderRobotSettings,
        doc="Robots that can drive and have no entry orders of their own; null: those do not serve.",
    )
    charging: ChargingSettings = setting(factory=ChargingSettings, doc="When robots with batteries charge.")
    idle: WhenIdle = setting(
        WhenIdle.STAY, doc="What robots do that have nothing to do: stay, or park at the nearest free parking place."
    )
    sample_period: float = time_setting(60.0, above=0.0, doc="Between samples of the figures that change over time.")
    attempts: int = setting(3, low=1, high=1000, doc="Drives for an order that may fail before the order does.")
    retry_after: float = time_setting(5.0, low=0.1, doc="Rest of a robot whose drive failed.")
