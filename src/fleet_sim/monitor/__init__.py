"""The figures of a run, and where they are shown: a small window, or the terminal."""

from fleet_sim.monitor.figures import MonitorFigures, MonitorOutput, RunMeter
from fleet_sim.monitor.terminal import TerminalMonitor
from fleet_sim.monitor.window import DataMonitor, window_hindrance

__all__ = ["DataMonitor", "MonitorFigures", "MonitorOutput", "RunMeter", "TerminalMonitor", "window_hindrance"]
