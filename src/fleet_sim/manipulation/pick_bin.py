"""PickBin: a bin with objects of one kind, filled from a seed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.actions.target import row_of_target
from fleet_sim.arrays import Floats, as_whole
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawning import remove
from fleet_sim.errors import InvalidValueError, UnknownNameError
from fleet_sim.manipulation.bins import BaseBin
from fleet_sim.manipulation.client import Client
from fleet_sim.manipulation.config import PickBinSettings
from fleet_sim.manipulation.heaps import fall_coordinates, let_fall, put_to_sleep, rows_of, spawn_objects, wake_up
from fleet_sim.manipulation.layouts import Layout, LayoutLibrary
from fleet_sim.manipulation.objects import KINDS_PER_FAMILY, ObjectKind, object_kind, object_kinds
from fleet_sim.spatial import quaternions

log = logging.getLogger("fleet_sim.manipulation")


class PickBin(BaseBin):
    """A bin with objects of one kind.

    Kind, number, heap and its orientation are drawn from the `rng` given to `reset`. The resting poses of a heap are
    found once, by simulating the fall, and cached.
    """

    settings_class = PickBinSettings

    def __init__(
        self,
        bin_config: PickBinSettings | Mapping[str, Any],
        bullet_client: Client,
        ml_mode: str | bool,
        steps_for_objects_to_fall: int = 500,
        name: str | None = None,
    ) -> None:
        """Spawn an empty bin; `reset` fills it.

        `ml_mode` is "training" or "testing", or True for training and False for testing. Raises InvalidValueError.
        """
        mode = {True: "training", False: "testing"}[ml_mode] if isinstance(ml_mode, bool) else ml_mode
        if mode not in KINDS_PER_FAMILY:
            raise InvalidValueError(f"ml_mode: expected 'training', 'testing', True or False, got {ml_mode!r}")
        super().__init__(bin_config, bullet_client, name)
        assert isinstance(self.config, PickBinSettings)
        self.objects_config = self.config.objects
        self.ml_mode = mode
        self.steps_for_objects_to_fall = as_whole(steps_for_objects_to_fall, "steps_for_objects_to_fall")
        self.rng = np.random.default_rng(0)
        self.kind: ObjectKind | None = None
        self.objects: list[SimObject] = []
        """Objects in the bin, and those taken out of it but not removed."""
        self._layouts = LayoutLibrary()
        self._too_few: set[str] = set()
        """Kinds of which fewer objects fit than the settings require: a warning is logged once for each."""

    @property
    def path_to_current_object(self) -> str | None:
        """What the objects are: the path of a mesh file or the name of a kind; None before the first reset."""
        if self.kind is None:
            return None
        return self.objects_config.relative_path_to_object if self.kind.family == "file" else self.kind.name

    # ---- filling -----------------------------------------------------------------------------------------------------

    def reset(self, keep_object_type: bool = False, rng: np.random.Generator | None = None) -> None:
        """Fill the bin again, with the same kind of objects or a random one."""
        super().reset(keep_object_type)
        if rng is not None:
            self.rng = rng
        self.load_objects(keep_object_type)

    def load_objects(self, keep_object_type: bool = False) -> None:
        """Fill the bin with a random number of objects in resting poses."""
        settings = self.objects_config
        number = int(self.rng.integers(settings.min_number_of_objects, settings.max_number_of_objects + 1))
        if not (keep_object_type and self.kind is not None):
            self.kind = object_kind(self.get_random_object_file(), self.ml_mode)
        assert self.kind is not None
        self._remove(self.objects)
        self.objects = []
        heap, quarters = int(self.rng.integers(settings.heaps_per_kind)), int(self.rng.integers(4))
        layout = self._layout(self.kind, number, heap).turned(quarters)
        # If a heap was too high, some objects fell out of the bin and are not in the layout.
        lying = min(number, len(layout.positions))
        self._check_number(self.kind, number, lying)
        number = lying
        self.objects = self._spawn(self.kind, layout.positions[:number], layout.orientations[:number])

    def _check_number(self, kind: ObjectKind, number: int, lying: int) -> None:
        """Log a warning if too few objects lie in the bin; raises InvalidValueError if there is none."""
        least = self.objects_config.min_number_of_objects
        if not lying:
            raise InvalidValueError(
                f"none of {number} objects of the kind {kind.name!r} stays in the bin; use smaller objects"
            )
        if lying < least and kind.name not in self._too_few:
            self._too_few.add(kind.name)
            log.warning(
                "of %d objects of the kind %r only %d stay in the bin: fewer than min_number_of_objects, %d",
                number,
                kind.name,
                lying,
                least,
            )

    def get_random_object_file(self, path: str = "") -> str:
        """Return the kind of object to load: the configured one, or a random one of the set in use.

        Returns the name of a kind or of a mesh file. Objects are generated: raises InvalidValueError for a `path`.
        """
        if path:
            raise InvalidValueError(
                f"path: objects are generated, none are read from {path!r}; for a mesh file of your own set "
                "load-specific-object and relative-path-to-object"
            )
        if self.objects_config.load_specific_object:
            return self.objects_config.relative_path_to_object
        names = sorted(object_kinds(self.ml_mode))
        return names[int(self.rng.integers(len(names)))]

    def get_list_object_coords(self, number_of_objs: int) -> list[list[float]]:
        """Return the positions from which objects fall, world frame: x at random, y in steps, then layer by layer."""
        places = np.array(fall_coordinates(self.rng, number_of_objs, self.dimensions)).reshape(-1, 3)
        coordinates: list[list[float]] = self.to_world(places).tolist()
        return coordinates

    def allow_objects_to_fall(self) -> None:
        """Step the simulation until all objects are at rest, at most `steps_for_objects_to_fall` times."""
        let_fall(self.sim, self.objects, self.steps_for_objects_to_fall)

    def put_to_sleep(self) -> None:
        """Put the objects to sleep in the engine until something touches them; to be called at rest."""
        put_to_sleep(self.sim, self.objects)

    def wake_up(self) -> None:
        """Wake up all objects, e.g. after one was removed from below the others."""
        wake_up(self.sim, self.objects)

    def _layout(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Return a layout made from at least `number` objects of `kind`, simulated on first use."""
        name = f"{kind.name}/{heap}"
        known = self._layouts.find(name, number)
        if known is None:
            # Simulated with the largest number at once: the lower part of a heap serves all smaller numbers.
            most = max(number, self.objects_config.max_number_of_objects)
            known = self._layouts.add(name, most, self._settle(kind, most, heap))
        return known

    def _settle(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Drop objects into the bin; return the resting poses of those that stay, in the order of their fall."""
        # Seeded by number and heap only: a layout does not depend on the episode in which it is first needed.
        rng = np.random.default_rng((number, heap))
        coordinates = fall_coordinates(rng, number, self.dimensions)
        orientations = quaternions.normalized(rng.normal(size=(number, 4)))
        things = self.objects = self._spawn(kind, np.array(coordinates), orientations)
        # The engine's caches depend on what ran before. A rebuilt engine gives the same fall every time.
        self.sim.rebuild_engine()
        self.allow_objects_to_fall()
        world, rows = self.sim.world, rows_of(things)
        inside = self.contains_mask(world.position[rows])
        # Stored in the frame of the bin, so that a layout serves the bin wherever it stands.
        back = np.repeat(quaternions.conjugate(np.array([self.pose.orientation])), number, axis=0)
        positions, orientations = self.to_bin(world.position[rows]), quaternions.multiply(back, world.orientation[rows])
        self._remove(things)
        self.objects = []
        return Layout(positions[inside], orientations[inside])

    def _spawn(self, kind: ObjectKind, positions: Floats, orientations: Floats) -> list[SimObject]:
        """Spawn objects at rest, at poses in the frame of the bin."""
        frame = np.repeat(np.array([self.pose.orientation]), len(positions), axis=0)
        turns = quaternions.multiply(frame, orientations)
        return spawn_objects(self.sim.world, kind, self.to_world(positions), turns, self.name or "bin")

    def _remove(self, things: Sequence[SimObject]) -> None:
        remove(self.sim.world, rows_of(things))

    # ---- taking out --------------------------------------------------------------------------------------------------

    @property
    def number_of_objects(self) -> int:
        """The number of objects."""
        return len(self.objects)

    def remove_objs_not_in_bin(self) -> int:
        """Remove the objects that are not in the bin (L x W x 2 H); returns how many."""
        if not self.objects:
            return 0
        inside = self.contains_mask(self.sim.world.position[rows_of(self.objects)])
        gone = [thing for thing, kept in zip(self.objects, inside.tolist(), strict=True) if not kept]
        for thing in gone:
            self.remove_single_object(thing)
        return len(gone)

    def remove_single_object(self, obj: int | SimObject) -> None:
        """Remove one object: a handle, an object id or a body id; raises InvalidValueError if it is not of this bin."""
        thing = self._own(obj)
        self.objects = [other for other in self.objects if other is not thing]
        self._remove([thing])
        self.wake_up()

    def _own(self, obj: int | SimObject) -> SimObject:
        """Return the object of this bin that `obj` stands for; raises InvalidValueError."""
        reason = ""
        try:
            row = row_of_target(self.sim.world, obj)
            for thing in self.objects:
                if thing.row == row:
                    return thing
        except UnknownNameError as error:
            reason = f": {error}"
        raise InvalidValueError(f"object {obj!r} does not belong to this bin{reason}")
