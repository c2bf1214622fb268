"""Which renderer draws, and what is said about it."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable

import pytest
from bullet_scene import Scene

from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, StateError
from fleet_sim.sensing.sensors.render.renderer import make_renderer

WITHOUT = """
import logging, sys
{hide}
logging.basicConfig(level=logging.INFO, format="%(message)s")
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.world.clock import Clock
from fleet_sim.world.world import World
from fleet_sim.sensing.sensors.render.renderer import make_renderer
from fleet_sim.base.errors import FleetSimError
mirror = BulletMirror(World(Clock(0.1)), BulletClient())
print(make_renderer(mirror, "auto").name)
try:
    make_renderer(mirror, "opengl")
except FleetSimError as error:
    print(type(error).__name__)
"""


@pytest.mark.usefixtures("opengl")
def test_auto_takes_opengl_and_says_so_in_one_line(
    make_scene: Callable[..., Scene], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="fleet_sim"):
        renderer = make_renderer(make_scene().mirror)
    assert renderer.name == "opengl"
    assert [record.message for record in caplog.records] == [f"cameras are drawn by OpenGL on EGL ({renderer.device})"]
    renderer.close()


@pytest.mark.parametrize(
    ("hide", "error", "advice"),
    [
        ("sys.modules['moderngl'] = None", "MissingDependencyError", "pip install 'fleet_sim[camera]'"),
        (
            "import ctypes\nclass Missing(ctypes.CDLL):\n    def __init__(self, name, *rest):\n"
            "        if 'EGL' in str(name): raise OSError(name)\n        super().__init__(name, *rest)\n"
            "ctypes.CDLL = Missing",
            "StateError",
            "apt install libegl1",
        ),
        (
            "import moderngl\ndef refuse(*args, **settings): raise Exception('no device')\n"
            "moderngl.create_context = refuse",
            "StateError",
            "no device",
        ),
    ],
    ids=["moderngl", "libEGL", "device"],
)
def test_auto_falls_back_and_says_why(hide: str, error: str, advice: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pybullet")
    if advice == "no device":
        # The library is looked for first.
        request.getfixturevalue("opengl")
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(hide=hide)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["tiny", error]
    lines = [line for line in done.stderr.splitlines() if "drawn by" in line]
    assert len(lines) == 1 and advice in lines[0]


def test_where_nothing_can_draw_it_is_said_what_would(
    make_scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **_settings: object) -> None:
        raise StateError("no device")

    monkeypatch.setattr("fleet_sim.sensing.sensors.render.renderer.GlRenderer", refuse)
    monkeypatch.setattr("fleet_sim.sensing.sensors.render.renderer.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"nothing can draw.*no device.*fleet_sim\[bullet\]"):
        make_renderer(make_scene().mirror)


def test_an_unknown_renderer_is_refused(make_scene: Callable[..., Scene]) -> None:
    with pytest.raises(InvalidValueError, match="Did you mean 'opengl'"):
        make_renderer(make_scene().mirror, "opngl")
