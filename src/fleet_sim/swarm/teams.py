"""Checks that the teams somebody looks for are there."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from fleet_sim.errors import UnknownNameError, did_you_mean
from fleet_sim.swarm.agent_config import DetectionRegionConfig, Team
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.metrics.nested import NestedMetric
from fleet_sim.swarm.metrics.selection import SelectiveMetric
from fleet_sim.swarm.metrics.sub_group import SubGroup
from fleet_sim.swarm.swarm_state import Measured
from fleet_sim.swarm.swarm_world import SwarmWorld

log = logging.getLogger(__name__)


def check_teams(world: SwarmWorld) -> None:
    """Refuse metrics of teams that nobody is of, and warn of sensors and regions that look for such teams.

    Sensors may look for somebody who comes later; such a metric would measure nobody, without a word. The teams of
    spawners count as soon as these are made. Raises UnknownNameError.
    """
    known = {team for team in world.teams if team is not None}
    for metric in world.metrics:
        check_metric(metric, known)
    for group in world.groups:
        config, wanted = group.config, [getattr(sensor, "target_team", None) for sensor in group.sensors]
        if isinstance(config, DetectionRegionConfig):
            wanted += config.target_teams or []
        for team in dict.fromkeys(wanted):
            if team is not None and team not in known:
                name = group.kind.__name__
                # A warning only: sensors may look for a team that spawners bring later.
                log.warning("%s looks for team %r, of which nobody is so far.%s", name, team, _hint(team, known))


def check_metric(metric: Measured, known: set[Team]) -> None:
    """Raise UnknownNameError for a metric of a team that is not among those `known`."""
    for team in _teams_of(metric):
        if team not in known:
            raise UnknownNameError(
                f"metric {metric.name!r}: nobody is of team {team!r}.{_hint(team, known)} Agents or spawners of a team "
                "have to be there in the first step of its metrics"
            )


def _teams_of(metric: Measured) -> Iterator[Team]:
    """Yield the teams that a metric, or a metric within it, looks at."""
    # Metrics of metrics hide teams, too, so these are looked through.
    if isinstance(metric, CrowdMetric) and metric.team is not None:
        yield metric.team
    if isinstance(metric, SelectiveMetric):
        yield from metric.include_teams or ()
        yield from metric.exclude_teams or ()
    if isinstance(metric, (NestedMetric, SubGroup)):
        for inner in metric.inner:
            yield from _teams_of(inner)


def _hint(team: Team, known: Iterable[Team]) -> str:
    return did_you_mean(str(team), [str(one) for one in known]) if known else " There are no teams."
