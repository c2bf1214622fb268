"""Launches as fixtures of pytest, and tests that run beside them.

A launch is a function decorated with `launch_pytest.fixture`; tests marked `launch(fixture=...)` start when
it is ready. What follows a `yield` in them, and tests marked with `shutdown=True`, run when it has ended.
"""

from ..places import offer_places
from . import tools
from .fixture import fixture

__all__ = ["actions", "fixture", "tools"]

offer_places(__name__)
