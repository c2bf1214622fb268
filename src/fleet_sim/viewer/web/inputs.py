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


def chosen(dropdown: Any, otherwise: str) -> str:
    """Return what is chosen of a dropdown; where a page has sent what is no choice, `otherwise`."""
    value: str = dropdown.value
    return value if value in dropdown.options else otherwise


class SharedInput:
    """An input that all pages share: it shows what is so, and does `act` with what a page has set it to.

    viser calls back from another thread, some time after it has the new value. Until then `show` leaves it alone: a
    frame from before would put the old value in its place, and that would be what is acted on.
    """

    def __init__(self, handle: Any, act: Callable[[Any], object]) -> None:
        self._handle, self._act = handle, act
        self._known = handle.value
        handle.on_update(self._changed)

    def show(self, value: object) -> bool:
        """Set it to what is so; returns whether it is, and not what a page has set it to a moment ago."""
        if self._handle.value != self._known:
            return False
        self._known = value
        show_value(self._handle, value)
        return True

    def set_options(self, options: tuple[str, ...]) -> None:
        """Set what can be chosen; what is shown must be among it."""
        self._handle.options = options

    def _changed(self, event: Any) -> None:
        # What the program sets comes back, too.
        if event.client is None:
            return
        value = self._handle.value
        # Not a number, which is not equal to itself, is no choice either.
        if value != value or value not in getattr(self._handle, "options", (value,)):
            show_value(self._handle, self._known)
            return
        self._known = value
        self._act(value)


def show_value(handle: Any, value: object) -> None:
    """Set an input to what is so."""
    if handle.value != value:
        # mypy takes the value of these handles for one that cannot be set.
        handle.value = value
