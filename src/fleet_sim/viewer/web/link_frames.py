"""Where links and geometries of a snapshot are: kinematics for who may not ask the world."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.appearance import Appearance
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.kinematics.forward import ORIGIN, Forward, orientations
from fleet_sim.kinematics.tree import tree_of
from fleet_sim.sensors.render.instances import InstanceTable
from fleet_sim.spatial import poses


class LinkFrames:
    """Poses of links in snapshots. It keeps work arrays, so it is for one thread."""

    def __init__(self) -> None:
        self._forwards: dict[int, Forward] = {}

    def link_poses(self, snapshot: Snapshot, looks: Appearance, indices: Ints, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (K, 3) and (K, 4) of one link of each of the entities `indices` (K,); -1: the base."""
        positions, turns = snapshot.positions[indices], snapshot.orientations[indices]
        numbers = np.where(links < 0, -1, looks.model_ids[indices])
        for number in np.unique(numbers[numbers >= 0]).tolist():
            members = np.flatnonzero(numbers == number)
            inside = self._in_base(snapshot, looks.models[number], indices[members], links[members])
            positions[members], turns[members] = poses.compose(positions[members], turns[members], *inside)
        return positions, turns

    def instance_poses(self, snapshot: Snapshot, looks: Appearance, table: InstanceTable) -> tuple[Floats, Floats]:
        """Return the world poses (M, 3) and (M, 4) of all instances of a table, made of the snapshot's appearance."""
        positions, turns = snapshot.positions[table.rows], snapshot.orientations[table.rows]
        chosen = table.on_links
        if len(chosen):
            positions[chosen], turns[chosen] = self.link_poses(snapshot, looks, table.rows[chosen], table.links[chosen])
        chosen = table.placed
        if len(chosen):
            positions[chosen], turns[chosen] = poses.compose(
                positions[chosen], turns[chosen], table.positions[chosen], table.orientations[chosen]
            )
        return positions, turns

    def _in_base(self, snapshot: Snapshot, model: RobotModel, indices: Ints, links: Ints) -> tuple[Floats, Floats]:
        tree = tree_of(model)
        forward = self._forwards.get(id(tree))
        if forward is None:
            # The tree is cached as long as its model, and the entry holds it: its id stays its own.
            forward = self._forwards[id(tree)] = Forward(tree)
        robots, places = np.unique(indices, return_inverse=True)
        values = snapshot.joint_positions[snapshot.joint_starts[robots][:, None] + np.arange(len(tree.slots))]
        frames = forward.frames(values)[:, :, tree.link_body[links], places]
        return poses.compose(
            frames[:, ORIGIN].T, orientations(frames), tree.link_position[links], tree.link_orientation[links]
        )
