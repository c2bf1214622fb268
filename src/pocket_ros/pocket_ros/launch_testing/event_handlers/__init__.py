"""Event handlers of launch tests."""

from .stdout_ready_listener import StdoutReadyListener

__all__ = ["StdoutReadyListener"]
