"""Components, which are not covered: they are shared libraries in C++."""

from ..module_places import not_covered

__getattr__ = not_covered(
    "ros2component.api",
    "COMPONENTS_RESOURCE_TYPE",
    "ComponentInfo",
    "ComponentTypeNameCompleter",
    "add_component_arguments",
    "container_node_name_completer",
    "find_container_node_names",
    "get_components_in_container",
    "get_components_in_containers",
    "get_package_component_types",
    "get_package_names_with_component_types",
    "get_registered_component_types",
    "load_component_into_container",
    "package_with_components_name_completer",
    "run_standalone_container",
    "unload_component_from_container",
)
