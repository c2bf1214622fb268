"""The robots that buildings of Open-RMF name, as cylinders of their size that drive and use energy as those do."""

from __future__ import annotations

from typing import NamedTuple

from fleet_sim.rmf.settings import SlotcarSettings

GRAVITY = 9.81
FRICTION = 0.22
"""Of the wheels of all of them."""


class RobotType(NamedTuple):
    """Size in m, mass in kg, battery in V, Ah and A of its charger, idle power in W, and how it drives."""

    radius: float
    height: float
    mass: float
    voltage: float
    capacity: float
    current: float
    power: float
    slotcar: SlotcarSettings

    @property
    def battery(self) -> dict[str, float | bool]:
        """The settings of its battery: what it uses for driving is what friction takes."""
        return {
            "capacity_wh": self.voltage * self.capacity,
            "idle_power": self.power,
            "drive_energy": FRICTION * self.mass * GRAVITY,
            "charge_power": self.voltage * self.current + self.power,
            "voltage": self.voltage,
            # A slotcar drives on with an empty battery: it is its fleet manager that looks after it.
            "stops_when_empty": False,
        }


def _slotcar(
    speed: float, usual: float, most: float, turn: float, turns: tuple[float, float], stop: float, back: bool
) -> SlotcarSettings:
    return SlotcarSettings(speed, usual, most, turn, *turns, stop, stop, back)


_CLEANER = _slotcar(0.7, 0.5, 0.6, 0.4, (1.0, 1.2), 1.5, False)
TYPES = {
    "TinyRobot": RobotType(
        0.2, 0.3, 20.0, 12.0, 24.0, 5.0, 20.0, _slotcar(0.5, 0.25, 0.75, 0.6, (1.5, 2.0), 0.75, True)
    ),
    "DeliveryRobot": RobotType(
        0.4, 0.4, 70.0, 24.0, 40.0, 8.8, 20.0, _slotcar(0.7, 0.5, 0.75, 0.6, (1.5, 2.0), 0.75, True)
    ),
    "HospitalRobot": RobotType(
        0.4, 1.4, 70.0, 24.0, 24.0, 5.0, 20.0, _slotcar(0.7, 0.5, 0.75, 0.3, (1.5, 2.0), 0.75, False)
    ),
    "CleanerBotA": RobotType(0.6, 1.3, 70.0, 24.0, 20.0, 10.0, 100.0, _CLEANER),
    "CleanerBotE": RobotType(0.5, 1.0, 70.0, 24.0, 30.0, 10.0, 100.0, _CLEANER),
}
"""By the names that buildings use, without that of their owner."""
OTHER = RobotType(0.25, 0.5, 20.0, 12.0, 24.0, 2.0, 10.0, _slotcar(0.5, 0.25, 0.75, 0.6, (1.5, 2.0), 0.75, True))
"""What stands for the others."""
