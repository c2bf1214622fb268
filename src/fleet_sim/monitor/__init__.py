"""Figures of a run, shown in a small window or in the terminal."""

from fleet_sim.monitor.figures import MonitorFigures, MonitorOutput, RunMeter, TerminalMonitor
from fleet_sim.monitor.window import DataMonitor, window_hindrance

__all__ = ["DataMonitor", "MonitorFigures", "MonitorOutput", "RunMeter", "TerminalMonitor", "window_hindrance"]
