"""What to say to code that sets an attribute which a handle does not have."""

from __future__ import annotations

from fleet_sim.errors import did_you_mean


def unsettable(handle: object, name: str) -> str | None:
    """Return why `name` cannot be set on `handle`; None where the attribute can be set, and failed for its own reasons.

    Handles hold no state of their own: a misspelt attribute would be kept and never read.
    """
    cls = type(handle)
    known = getattr(cls, name, None)
    if known is None:
        public = [key for key in dir(cls) if not key.startswith("_")]
        hint = did_you_mean(name, public).partition(" Known:")[0]
        own = "Values of your own belong in `user_data`, or in a subclass"
        return f"{cls.__name__} has no attribute {name!r}.{hint} {own}"
    if isinstance(known, property) and known.fset is not None:
        return None
    setter = f"set_{name}"
    hint = f"; call {setter}()" if hasattr(cls, setter) else ""
    return f"{name!r} of {cls.__name__} can only be read{hint}"
