"""Who a command is for: the entities it names that may take it, and why the others may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.core.addresses import NamedRows
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError


class Recipients:
    """The entities a command names: `rows` and `indices` (into the command's arrays) of those that may take it.

    Names become rows here, once, and what is asked of the entities is asked of columns: only who is rejected costs
    time by itself. Of a name given several times the first entry counts; the others are rejected: the name is then
    among the accepted `names` and, as "duplicate target", among the `rejected`.
    """

    rows: Rows
    indices: Ints

    def __init__(self, world: World, names: Sequence[str]) -> None:
        """Raises InvalidValueError where `names` are no names."""
        self._world = world
        self._given = names
        self._reasons: dict[int, str] = {}
        known = names.rows_in(world) if isinstance(names, NamedRows) else None
        rows = world.index.rows_named(names) if known is None else known
        self.rows, self.indices = rows, np.arange(len(rows))
        if known is None:
            self.reject(rows == NO_ROW, "unknown robot")
        self._reject_duplicates()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those that may take the command, in the order given."""
        if len(self.indices) == len(self._given):
            return tuple(self._given)
        return tuple([self._given[index] for index in self.indices.tolist()])

    @property
    def rejected(self) -> dict[str, str]:
        """Why the others may not, by name, in the order given."""
        rejected: dict[str, str] = {}
        for index in sorted(self._reasons):
            rejected.setdefault(self._given[index], self._reasons[index])
        return rejected

    def reject(self, bad_mask: AnyArray, reason: str | Callable[[int], str]) -> None:
        """Reject those in `bad_mask`, aligned with `rows`; `reason` is a text, or called with each one's row."""
        if not bad_mask.any():
            return
        for index, row in zip(self.indices[bad_mask].tolist(), self.rows[bad_mask].tolist(), strict=True):
            self._reasons[index] = reason if isinstance(reason, str) else reason(row)
        self.rows, self.indices = self.rows[~bad_mask], self.indices[~bad_mask]

    def reject_for(self, reasons: Mapping[int, str]) -> None:
        """Reject, by row, those that have a reason other than ""."""
        bad = [row for row, reason in reasons.items() if reason]
        if bad:
            self.reject(np.isin(self.rows, bad), reasons.__getitem__)

    def _reject_duplicates(self) -> None:
        rows = self.rows
        order = np.arange(len(rows))
        first = np.empty(self._world.capacity, np.int64)
        # Written backwards: where a row is given several times, the first of its entries is the last written.
        first[rows[::-1]] = order[::-1]
        self.reject(first[rows] != order, "duplicate target")

    # ---- what a command may ask --------------------------------------------------------------------------------------

    def reject_others_than_robots(self) -> None:
        """Reject what is no robot."""
        self.reject(self._world.kind[self.rows] != KIND_AGENT, "not a robot")

    def reject_immovable(self) -> None:
        """Reject who cannot drive: objects, fixed robots, and those that are carried."""
        self.reject_others_than_robots()
        self.reject(self._world.motion.law[self.rows] == 0, "it has a fixed base and cannot move")
        self.reject_carried()
        for rule in self._world.drive_rules:
            self.reject(rule.refuses(self.rows), rule.reason)

    def reject_carried(self) -> None:
        """Reject who goes where its carrier goes."""
        world = self._world
        self.reject(
            world.parent[self.rows] != NO_ROW, lambda row: f"it is carried by {world.label(int(world.parent[row]))!r}"
        )

    def reject_jointless(self) -> None:
        """Reject who has no joints."""
        self.reject(self._world.robots.joint_count[self.rows] == 0, "it has no joints that move")

    def keep(self, good_mask: Bools, reason: str) -> None:
        """Reject those outside `good_mask`, aligned with `rows`."""
        self.reject(~good_mask, reason)


def shaped(values: Any, shape: tuple[int, int], what: str) -> Floats:
    """Return `values` as floats of `shape`, finite or not; raises InvalidValueError."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{what}: expected numbers of shape {shape}, got {values!r}") from error
    if array.shape != shape:
        raise InvalidValueError(f"{what}: expected shape {shape}, got {array.shape}")
    return array
