"""SensorGroups: which sensors are read in one call, and in which steps of their period."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Sequence

import numpy as np

from fleet_sim.sensors.group import SensorGroup
from fleet_sim.sensors.kind import SensorContext, SensorKind
from fleet_sim.sensors.registry import sensor_kind
from fleet_sim.sensors.sensor import SensorParams

GroupKey = tuple[str, SensorParams, int]
"""The type of the sensors, what their settings have in common, and their step of the period."""


class SensorGroups:
    """The groups of a simulation, in the order in which they were made. A kind is made when its first group is."""

    def __init__(self, context: SensorContext) -> None:
        self._context = context
        self._kinds: dict[str, SensorKind] = {}
        self._groups: dict[GroupKey, SensorGroup] = {}

    def __iter__(self) -> Iterator[SensorGroup]:
        return iter(self._groups.values())

    def items(self) -> ItemsView[GroupKey, SensorGroup]:
        """Return the groups with their keys."""
        return self._groups.items()

    def get(self, type_name: str, common: SensorParams, slot: int) -> SensorGroup:
        """Return the group of sensors with this key, made at the first use."""
        key = (type_name, common, slot)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = SensorGroup(self.kind(type_name), common, slot)
        return group

    def put_back(self, key: GroupKey, group: SensorGroup) -> SensorGroup:
        """Return the group with `key`; where it was dropped meanwhile, that is `group` again."""
        return self._groups.setdefault(key, group)

    def restart_all_but(self, kept: Sequence[SensorGroup]) -> None:
        """Begin anew with the sensors of groups that are not `kept`."""
        # Compared by identity: a group that was dropped and made again under the same key is another one.
        known = {id(group) for group in kept}
        for group in self._groups.values():
            if id(group) not in known:
                group.restart()

    def drop_empty(self) -> None:
        """Forget groups that have lost all sensors."""
        self._groups = {key: group for key, group in self._groups.items() if group.sensors}

    def slots(self, type_name: str, params: SensorParams, count: int) -> list[int]:
        """Return the steps of the period for `count` more sensors: those in which the fewest are due."""
        kind = self.kind(type_name)
        if not kind.spread or params.rate is None:
            return [0] * count
        period = max(1, self._context.world.clock.ticks(1.0 / params.rate))
        load = np.zeros(period, np.int64)
        for (_, other, slot), group in self._groups.items():
            if group.kind is kind and other.rate == params.rate:
                load[slot] += len(group.sensors)
        slots = []
        for _ in range(count):
            # Of equally loaded steps the first: the choice is reproducible.
            slots.append(int(np.argmin(load)))
            load[slots[-1]] += 1
        return slots

    def kind(self, name: str) -> SensorKind:
        """Return the kind called `name`, made at the first use; raises UnknownNameError."""
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = sensor_kind(name)(self._context)
        return kind

    def name_of(self, kind: SensorKind) -> str:
        """Return the name of a kind that is in use."""
        return next(name for name, known in self._kinds.items() if known is kind)
