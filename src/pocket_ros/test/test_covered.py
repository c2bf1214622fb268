"""The page on what is covered is what the tool writes, and says of each name what holds."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "list_covered.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    page = (ROOT / "docs" / "covered.md").read_text()
    assert "| `rclpy.node` |" in page and "`QoSOverridingOptions`" in page
    assert "| `EventHandler`, `QoSEventHandler` |" in page
