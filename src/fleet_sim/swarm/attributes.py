"""Assignments to agents and worlds: what would have no effect is refused with the reason; other names are free."""

from __future__ import annotations

from fleet_sim.settings.fields import fields_of


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
