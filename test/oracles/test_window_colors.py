"""What the window shows of a body whose color PyBullet chose: the pixels of a virtual screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from oracle_rows import holds
from virtual_display import virtual_display, window_environment

PROGRAM = """
import sys, time
from pathlib import Path
import numpy as np
import fleet_sim as fs

sim = fs.MultiRobotSimulationCore(
    fs.SimulationParams(gui=True, window_width=640, window_height=480, monitor=False, enable_floor=False)
)
bullet = sim.bullet
shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[0.4, 0.5, 0.6])
# PyBullet has four colors, and takes one after the other.
for number in range(4):
    fs.SimObject(bullet.createMultiBody(0.0, shape, -1, [0.0, 1.3 * number, 0.4]), sim)

def colors():
    for _ in range(4):
        bullet.getCameraImage(16, 16, renderer=bullet.ER_BULLET_HARDWARE_OPENGL)
        time.sleep(0.2)
    data = Path(sys.argv[1], "Xvfb_screen0").read_bytes()
    header, width, height, entries = (int.from_bytes(data[at : at + 4], "big") for at in (0, 16, 20, 76))
    pixels = np.frombuffer(data, np.uint8, 4 * width * height, header + 12 * entries).reshape(-1, 4).astype(int)
    blue, green, red = pixels[:, 0], pixels[:, 1], pixels[:, 2]
    return int(((red > 100) & (green > 80) & (blue < 50)).sum())

sim.step_once()
before = colors()
for _ in range(2):
    sim.view.apply_key("visual_shapes")
for _ in range(2):
    sim.view.apply_key("collision_shapes")
print("seen", before, colors(), flush=True)
sim.close()
"""


@holds("api:MultiRobotSimulationCore.view", fault="engines/bullet/window.py: bodies get the color that PyBullet tells")
@pytest.mark.slow
def test_keys_give_a_body_the_color_back_that_pybullet_chose(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    with virtual_display("-fbdir", str(tmp_path)) as display:
        made = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            env=window_environment(display),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    line = next(line for line in made.stdout.splitlines() if line.startswith("seen"))
    before, after = (int(number) for number in line.split()[1:])
    assert before > 1000
    assert after == pytest.approx(before, rel=0.05)
