"""Robot description files: reads them, finds them by name, and detects the kind of robot they describe.

`loading.py` is the way in: a file of any format becomes a `RobotModel`; URDF is read there, `sdf.py` and `mjcf.py` read
the others. `assembly.py` puts links and joints in PyBullet's order, `catalog.py` finds files by name, and `profile.py`
says what kind of robot it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.models.catalog import KNOWN_MODELS as KNOWN_MODELS
    from fleet_sim.models.catalog import ModelEntry as ModelEntry
    from fleet_sim.models.catalog import add_search_path as add_search_path
    from fleet_sim.models.catalog import discover_models as discover_models
    from fleet_sim.models.catalog import get_search_paths as get_search_paths
    from fleet_sim.models.catalog import list_all_models as list_all_models
    from fleet_sim.models.catalog import model_folders as model_folders
    from fleet_sim.models.catalog import register_model as register_model
    from fleet_sim.models.catalog import remove_search_path as remove_search_path
    from fleet_sim.models.catalog import resolve_model as resolve_model
    from fleet_sim.models.catalog import resolve_urdf as resolve_urdf
    from fleet_sim.models.catalog import unregister_model as unregister_model
    from fleet_sim.models.export import bullet_file as bullet_file
    from fleet_sim.models.export import published_text as published_text
    from fleet_sim.models.export import urdf_text as urdf_text
    from fleet_sim.models.loading import load_robot_model as load_robot_model
    from fleet_sim.models.profile import OBJECT as OBJECT
    from fleet_sim.models.profile import RobotProfile as RobotProfile
    from fleet_sim.models.profile import auto_detect_profile as auto_detect_profile
    from fleet_sim.models.profile import detect_robot_type as detect_robot_type
    from fleet_sim.models.profile import profile_of as profile_of
else:
    __all__, __getattr__, __dir__ = lazy(globals())
