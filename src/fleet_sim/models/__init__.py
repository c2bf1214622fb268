"""Robot description files: reads them, finds them by name, and detects the kind of robot they describe."""

from fleet_sim.meshes.limits import MeshLimits
from fleet_sim.models.catalog import KNOWN_MODELS, ModelEntry, list_all_models, register_model, unregister_model
from fleet_sim.models.export import bullet_file, published_text, urdf_text
from fleet_sim.models.loading import load_robot_model
from fleet_sim.models.profile import OBJECT, RobotProfile, auto_detect_profile, detect_robot_type, profile_of
from fleet_sim.models.resolver import discover_models, model_folders, resolve_model, resolve_urdf
from fleet_sim.models.search_paths import add_search_path, get_search_paths, remove_search_path

__all__ = [
    "KNOWN_MODELS",
    "MeshLimits",
    "ModelEntry",
    "OBJECT",
    "RobotProfile",
    "add_search_path",
    "auto_detect_profile",
    "bullet_file",
    "detect_robot_type",
    "discover_models",
    "get_search_paths",
    "list_all_models",
    "load_robot_model",
    "model_folders",
    "profile_of",
    "published_text",
    "register_model",
    "remove_search_path",
    "resolve_model",
    "resolve_urdf",
    "unregister_model",
    "urdf_text",
]
