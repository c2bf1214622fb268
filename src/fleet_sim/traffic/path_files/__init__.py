"""Files of paths: plans made by other programs, read strictly, and our own plans written for them."""

from fleet_sim.traffic.path_files.reading import CellPaths, read_paths
from fleet_sim.traffic.path_files.writing import write_paths

__all__ = ["CellPaths", "read_paths", "write_paths"]
