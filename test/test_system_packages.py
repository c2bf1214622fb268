"""Tests that need packages of the system say so, and how to install them."""

from __future__ import annotations

import pytest
import system_packages


def skipped(need: object, *args: str) -> str:
    """Return the reason for which `need` skips."""
    with pytest.raises(pytest.skip.Exception) as caught:
        need(*args)  # type: ignore[operator]
    return str(caught.value)


def test_a_missing_command_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages.shutil, "which", lambda name: None if name == "Xvfb" else "/bin/true")
    reason = skipped(system_packages.need_commands, "Xvfb", "xdotool")
    assert reason == "not installed on this system: Xvfb (apt install xvfb)"


def test_a_missing_tkinter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "find_spec", lambda name: None)
    assert "apt install python3-tk" in skipped(system_packages.need_tkinter)


def test_a_missing_egl_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(system_packages, "CDLL", missing)
    assert "apt install libegl1" in skipped(system_packages.need_opengl)


def test_one_line_tells_how_to_turn_them_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages.shutil, "which", lambda name: None)
    reason = skipped(system_packages.need_commands, "Xvfb", "xdotool")
    monkeypatch.setattr(system_packages, "find_spec", lambda name: None)
    reasons = [reason, "no pyarrow", skipped(system_packages.need_tkinter)]
    line = system_packages.summary(reasons)
    assert line == "2 tests were skipped, as system packages are missing: apt install python3-tk xdotool xvfb"
    assert not system_packages.summary(["no pyarrow"])
