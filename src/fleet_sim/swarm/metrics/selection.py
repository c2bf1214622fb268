"""Which agents a metric looks at: by their teams and their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.declared_metric import DeclaredMetric
from fleet_sim.swarm.parameters import documented
from fleet_sim.swarm.swarm_state import SwarmState

Teams = list[int | str] | None
Names = list[str] | None


@dataclass(frozen=True)
class Selection:
    """Agents of some teams and names; None includes all, or excludes nobody."""

    include_teams: Teams = None
    exclude_teams: Teams = None
    include_names: Names = None
    exclude_names: Names = None

    def mask(self, world: SwarmState, crowd: Crowd) -> Bools:
        """Return which agents of `crowd` are selected (N,)."""
        chosen = np.ones(len(crowd), np.bool_)
        for teams, wanted in ((self.include_teams, True), (self.exclude_teams, False)):
            if teams is not None:
                chosen &= np.isin(crowd.teams, [world.team_code(team) for team in teams]) == wanted
        for names, wanted in ((self.include_names, True), (self.exclude_names, False)):
            if names is not None:
                known = world.columns.index.names
                # Names are kept per row and change by `rename`, so they are looked up each time.
                chosen &= np.array([(known[row] in names) == wanted for row in crowd.rows.tolist()], np.bool_)
        return chosen

    def of(self, world: SwarmState, crowd: Crowd) -> Crowd:
        """Return the agents of `crowd` that are selected, in their order."""
        return Crowd(world.columns, world.swarm, crowd.rows[self.mask(world, crowd)])


@documented
@dataclass(eq=False, repr=False)
class SelectiveMetric(DeclaredMetric):
    """Base of metrics that look at some agents only, as their settings say."""

    include_teams: Teams = setting(None, one_is_list=True, doc="Look at these teams only; null: at all agents.")
    exclude_teams: Teams = setting(None, one_is_list=True, doc="Do not look at these teams.")
    include_names: Names = setting(None, one_is_list=True, doc="Look at the agents with these names only.")
    exclude_names: Names = setting(None, one_is_list=True, doc="Do not look at the agents with these names.")

    @property
    def selection(self) -> Selection:
        """The agents it looks at."""
        return Selection(self.include_teams, self.exclude_teams, self.include_names, self.exclude_names)
