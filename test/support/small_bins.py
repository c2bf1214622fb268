"""Settings of bin picking that are made and reset quickly: few things, small pictures."""

from __future__ import annotations

from typing import Any


def small_bin(
    *,
    objects: tuple[int, int] = (2, 3),
    kind: str = "box",
    fall: int = 80,
    pixels: int = 64,
    termination: dict[str, Any] | None = None,
    arms: dict[str, Any] | None = None,
    **simulation: Any,
) -> dict[str, Any]:
    """Return the settings; `kind` "" takes a random one."""
    least, most = objects
    chosen = {"load-specific-object": True, "relative-path-to-object": kind} if kind else {}
    config: dict[str, Any] = {
        "simulation": {key.replace("_", "-"): value for key, value in simulation.items()},
        "camera": {"width-resolution": pixels, "height-resolution": pixels},
        "scene": {
            "steps-for-objects-to-fall": fall,
            "bin": {"objects": {"min-number-of-objects": least, "max-number-of-objects": most, **chosen}},
        },
    }
    if termination is not None:
        config["termination"] = termination
    if arms is not None:
        config["arms"] = arms
    return config
