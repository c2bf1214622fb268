"""Robot description files: reading them, finding them by name, and what kind of robot they describe."""

from fleet_sim.models.loading import load_robot_model
from fleet_sim.models.meshes import MeshLimits
from fleet_sim.models.search_paths import add_search_path, get_search_paths, remove_search_path

__all__ = ["MeshLimits", "add_search_path", "get_search_paths", "load_robot_model", "remove_search_path"]
