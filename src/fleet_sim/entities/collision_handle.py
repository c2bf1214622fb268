"""CollisionHandle: what an entity may collide with."""

from __future__ import annotations

from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.collision_filters import checked_group, checked_mask
from fleet_sim.entities.handle import Handle


class CollisionHandle(Handle):
    """The collision mode, groups and mask of an entity. Each change counts from the next check and physics step on."""

    __slots__ = ()

    @property
    def collision_mode(self) -> CollisionMode:
        """How the entity takes part in collision checks."""
        return CollisionMode.from_code(self._world.collision_mode[self.row])

    def set_collision_mode(self, mode: CollisionMode | str) -> None:
        """Change how the entity takes part in collision checks, from the next check on.

        Going to DISABLED ends its collisions; with physics it then meets nothing but the floor.
        """
        row = self.row
        self._world.collision_mode[row] = CollisionMode.parse(mode).code
        self._changed(row)

    @property
    def is_static(self) -> bool:
        """Whether the entity is static, that is never moves."""
        return self.collision_mode is CollisionMode.STATIC

    @property
    def collision_group(self) -> int:
        """The groups the entity is in, as bits: 1 by default."""
        return int(self._world.collision_group[self.row])

    @property
    def collision_mask(self) -> int:
        """The groups the entity collides with, as bits: -1 (all) by default."""
        return int(self._world.collision_mask[self.row])

    def set_collision_filter(self, group: int | None = None, mask: int | None = None) -> None:
        """Change the groups the entity is in and those it collides with, as bits; None keeps what it has.

        Two entities may collide if each is in a group of the other's mask. Events, blocking, avoidance and the engine
        follow it; the floor carries every entity. As part of the state it is saved in checkpoints and goes back with
        `reset`. Raises InvalidValueError.
        """
        row, world = self.row, self._world
        # Both are checked before one is written.
        groups = None if group is None else checked_group(group)
        masks = None if mask is None else checked_mask(mask)
        if groups is not None:
            world.collision_group[row] = groups
        if masks is not None:
            world.collision_mask[row] = masks
        self._changed(row)

    def _changed(self, row: int) -> None:
        self._world.collision_rules.changed()
        # The box stays the same, but computing it anew makes the next collision check run although nothing moved.
        self._world.bounds_behind[row] = True
