"""Planners of paths for many robots, one per file."""
