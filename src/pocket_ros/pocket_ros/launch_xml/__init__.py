"""Launch files in XML, as `launch.frontend` reads them."""

from ..launch.frontend.xml_file import Entity, Parser
from ..module_places import offer_modules
from . import launch_description_sources

__all__ = ["Entity", "Parser", "launch_description_sources"]

offer_modules(__name__, {"entity": {"Entity": Entity}, "parser": {"Parser": Parser, "Entity": Entity}})
