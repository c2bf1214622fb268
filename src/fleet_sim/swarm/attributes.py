"""Assignments to agents and worlds: they take effect, or are rejected with the reason; none is ignored."""

from __future__ import annotations

from fleet_sim.settings.attributes import refuse_slip
from fleet_sim.settings.fields import fields_of


def check_assignment(owner: object, name: str, settings: type, advice: str) -> None:
    """Refuse the assignment to `owner.name` where it would do nothing.

    That is a setting that only counts when `owner` is made, and a name much like a known one. What is private, or
    known to `owner` or its class, passes; so do names like no other, for notes. Raises
    AttributeError.
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
    refuse_slip(owner, name, {*fields_of(settings), *vars(owner), *dir(owner)})
