"""The prefixes that are searched, in order."""

import os
import site
import sys

from .constants import AMENT_PREFIX_PATH_ENV_VAR, RESOURCE_INDEX_SUBFOLDER


def get_search_paths() -> list[str]:
    """Existing prefixes, first match wins: `AMENT_PREFIX_PATH`, then the Python environment.

    An ament_python package installed by pip puts its resource index under `sys.prefix` (or under the user
    base with `pip install --user`), so either counts as a prefix where it holds an index. Unlike a full ROS
    2, an unset `AMENT_PREFIX_PATH` is no error here: the Python environment alone is enough.
    """
    named = os.environ.get(AMENT_PREFIX_PATH_ENV_VAR, "").split(os.pathsep)
    paths = [path for path in named if path and os.path.exists(path)]
    environments = [sys.prefix]
    if site.ENABLE_USER_SITE:
        environments.append(site.getuserbase())
    for prefix in environments:
        if prefix not in paths and os.path.isdir(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER)):
            paths.append(prefix)
    return paths
