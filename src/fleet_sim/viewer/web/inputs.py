"""Buttons and other inputs of a panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import viser


def add_button(
    gui: viser.GuiApi,
    label: str,
    act: Callable[[], object],
    icon: viser.IconName,
    *,
    hint: str | None = None,
    visible: bool = True,
) -> viser.GuiButtonHandle:
    """Return a button that does `act` when it is pressed."""
    button = gui.add_button(label, icon=icon, hint=hint, visible=visible)

    def pressed(event: Any) -> None:
        act()

    button.on_click(pressed)
    return button


def on_input(handle: Any, act: Callable[[], object]) -> None:
    """Do `act` whenever a page changes an input; not when the program does."""

    def changed(event: Any) -> None:
        if event.client is not None:
            act()

    handle.on_update(changed)


def show_value(handle: Any, value: object) -> None:
    """Set an input to what is so."""
    if handle.value != value:
        # mypy takes the value of these handles for one that cannot be set.
        handle.value = value
