"""Keys of RobotSwarmSimulator's files that do not exist here, with what to write instead; for error messages."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.settings.fields import fields_of

TYPES: dict[str, dict[str, str]] = {
    "metric": {
        "JinjaMetric": "Combination has expressions without templates; anything more is a Metric of your own",
        "InstantRiemannCircularity": "InstantTaubinSVDCircularity is close to it",
        "InstantKMHCircularity": "InstantTaubinSVDCircularity is close to it",
    },
    "spawner": {
        "ExcelSpawner": "save the sheet as CSV and write type: csv, with the columns x, y and angle",
        "AgentSpawner": "choose one of point, uniform, circle, donut, fixed, grid, csv",
    },
    "controller": {
        "Controller": "binary takes a list of four numbers as `a`, AgentMethodController asks the agent, and a"
        " function is a Controller of your own"
    },
}
"""By kind of part and its name."""

AGENT_KEYS: dict[str, str] = {
    "track_io": "a subscriber, any function of the world, notes position, angle, linear, angular and sensors of"
    " each agent",
    "debug": "`fleet-sim swarm` draws agents as the simulation knows them",
    "seed": "numbers are drawn per agent from the seed of the world; sensors, controllers and spawners may have a"
    " `seed` of their own",
    "scale_forward_speed": "leave it out, it does nothing there; speeds of controllers are in m/s",
    "scale_turning_rates": "leave it out, it does nothing there; rates of controllers are in rad/s",
}
"""By key of an agent."""

PART_KEYS: dict[str, str] = {"degrees": "angles are in rad; leave it out, or write `theta: !np deg2rad(20)`"}
"""By key of a controller, a sensor or another part."""


def advice_on(kind: str, name: object) -> str:
    """Return what to write instead of the part `name`, to be added to an error; "" where nothing is known of it."""
    known = TYPES.get(kind, {}).get(str(name), "")
    return f" Instead: {known}." if known else ""


def refuse_agent_keys(settings: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Raise ConfigError for keys of agents in `settings` that are not `known`, where there is advice on them."""
    for key, advice in AGENT_KEYS.items():
        if key in settings and key not in known:
            raise ConfigError(f"is not a setting of agents. Instead: {advice}", path=key)


def refuse_keys(parameters: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Raise ConfigError for parameters of a part that are not `known`, where there is advice on them."""
    for key, advice in PART_KEYS.items():
        if key in parameters and key not in known:
            raise ConfigError(f"is not a parameter here. Instead: {advice}", path=key)


# Assignments to agents and worlds: what would have no effect is refused with the reason; other names are free.


def check_assignment(owner: object, name: str, settings: type, advice: str) -> None:
    """Refuse to set `owner.name` where it is a setting that counts only when `owner` is made, or can only be read.

    Raises AttributeError. `advice` says what to do in place of setting a setting.
    """
    if name.startswith("_") or name in vars(owner):
        return
    known = getattr(type(owner), name, None)
    if known is not None and (not isinstance(known, property) or known.fset is not None):
        return
    what = type(owner).__name__
    if name in fields_of(settings):
        raise AttributeError(f"{what}.{name} is settled when it is made and cannot be set later: {advice}")
    if known is not None:
        raise AttributeError(f"{what}.{name} can be read only; it follows from the state of the simulation")
