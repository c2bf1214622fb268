"""Modules that upstream has and that have no file of their own here, and names that are refused.

Here related names share a file; upstream gives most of them a module each, and programs import from those:
`from rclpy.validate_namespace import validate_namespace`. Such a module is made when it is imported, or with
its package. It is one object under its public name and its name inside pocket_ros, and holds the very objects
of the file, so classes are pickled by the module that defines them.

What of upstream is not covered belongs mostly to the insides of launch and of pytest plugins. A program that
asks for one of these names is told so, with NotImplementedError.
`conformance/run.py --suites -` counts them in a checkout of upstream, and finds names that are neither here
nor in the table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_PLACES = {
    "launch.event_handlers.on_shutdown": "launch.event_handlers: OnShutdown",
    "launch.frontend.parse_substitution": """
        launch.frontend.parser: parse_if_substitutions parse_substitution replace_escaped_characters""",
    "launch.launch_introspector": "launch.launch_service: LaunchIntrospector",
    "launch.logging.handlers": """
        launch.logging: FileHandler Handler MemoryHandler NullHandler QueueHandler RotatingFileHandler
        SocketHandler StreamHandler SysLogHandler TimedRotatingFileHandler WatchedFileHandler""",
    "launch_ros.events.lifecycle": "launch_ros.events: ChangeState StateTransition matches_node_name",
    "launch_testing.event_handlers": "launch_testing.actions: StdoutReadyListener",
    "launch_testing.markers": "launch_testing.loader: keep_alive retry_on_failure",
    "launch_testing.pytest.hooks": """
        pytest_plugin: LaunchTestFailure LaunchTestItem LaunchTestModule pytest_addoption pytest_configure
        pytest_pycollect_makemodule""",
    "launch_testing_ros.tools": "launch_testing_ros: basic_output_filter get_rmw_output_filter",
    "launch_xml.launch_description_sources": "launch_xml: XMLLaunchDescriptionSource",
    "launch_yaml.launch_description_sources": "launch_yaml: YAMLLaunchDescriptionSource",
    "rclpy.action.graph": """
        rclpy.action.goals: get_action_client_names_and_types_by_node get_action_names_and_types
        get_action_server_names_and_types_by_node""",
    "rclpy.callback_groups": """
        rclpy.entity: CallbackGroup MutuallyExclusiveCallbackGroup ReentrantCallbackGroup""",
    "rclpy.client": "rclpy.service: Client SrvType SrvTypeRequest SrvTypeResponse",
    "rclpy.clock_type": "rclpy.time: ClockType",
    "rclpy.constants": "rclpy.time: S_TO_NS",
    "rclpy.destroyable": "rclpy.entity: DestroyableType",
    "rclpy.duration": "rclpy.time: Duration DurationType Infinite S_TO_NS",
    "rclpy.expand_topic_name": "rclpy.names: expand_topic_name",
    "rclpy.guard_condition": "rclpy.waitable: GuardCondition",
    "rclpy.impl.implementation_singleton": "rclpy._rclpy_pybind11: package rclpy_implementation",
    "rclpy.impl.rcutils_logger": "rclpy.logging: RcutilsLogger",
    "rclpy.lifecycle.managed_entity": "rclpy.lifecycle: ManagedEntity SimpleManagedEntity",
    "rclpy.lifecycle.node": """
        rclpy.lifecycle: LifecycleNode LifecycleNodeMixin LifecycleState TransitionCallbackReturn""",
    "rclpy.lifecycle.publisher": "rclpy.lifecycle: LifecyclePublisher",
    "rclpy.logging_service": "rclpy.node_services: LoggingService",
    "rclpy.parameter_event_handler": """
        rclpy.parameter_client: ParameterCallbackHandle ParameterEventCallbackHandle ParameterEventHandler""",
    "rclpy.parameter_service": "rclpy.node_services: ParameterService",
    "rclpy.qos_event": """
        rclpy.event_handler: IncompatibleTypeInfo PublisherEventCallbacks QoSLivelinessChangedInfo
        QoSLivelinessLostInfo QoSMessageLostInfo QoSOfferedDeadlineMissedInfo
        QoSOfferedIncompatibleQoSInfo QoSPublisherEventType QoSPublisherMatchedInfo
        QoSRequestedDeadlineMissedInfo QoSRequestedIncompatibleQoSInfo QoSSubscriptionEventType
        QoSSubscriptionMatchedInfo SubscriptionEventCallbacks UnsupportedEventTypeError""",
    "rclpy.serialization": "rclpy.type_support: deserialize_message serialize_message",
    "rclpy.service_introspection": """
        rclpy.endpoint: EventKind EventPublisher SERVICE_EVENT_POSTFIX ServiceEvents
        ServiceIntrospectionState""",
    "rclpy.signals": """
        rclpy.context: SignalHandlerOptions get_current_signal_handlers_options install_signal_handlers
        uninstall_signal_handlers""",
    "rclpy.topic_endpoint_info": "rclpy.node_graph: TopicEndpointInfo TopicEndpointTypeEnum",
    "rclpy.topic_or_service_is_hidden": """
        rclpy.names: HIDDEN_TOPIC_PREFIX TOPIC_SEPARATOR_STRING topic_or_service_is_hidden""",
    "rclpy.type_description_service": """
        rclpy.node_services: START_TYPE_DESCRIPTION_SERVICE_PARAM TypeDescriptionService""",
    "rclpy.type_hash": "rclpy.node_graph: TypeHash",
    "rclpy.utilities": """
        rclpy.context: S_TO_NS get_available_rmw_implementations get_default_context
        get_rmw_implementation_identifier ok remove_ros_args shutdown timeout_sec_to_nsec try_shutdown""",
    "rclpy.validate_full_topic_name": "rclpy.names: validate_full_topic_name",
    "rclpy.validate_namespace": "rclpy.names: validate_namespace",
    "rclpy.validate_node_name": "rclpy.names: validate_node_name",
    "rclpy.validate_parameter_name": "rclpy.names: validate_parameter_name",
    "rclpy.validate_topic_name": "rclpy.names: TOPIC_SEPARATOR_STRING validate_topic_name",
    "rosidl_parser.definition": """
        rosidl_parser: AbstractGenericString AbstractNestableType AbstractNestedType AbstractSequence
        AbstractString AbstractType AbstractWString Array BASIC_TYPES BasicType BoundedSequence
        BoundedString BoundedWString CHARACTER_TYPES FLOATING_POINT_TYPES INTEGER_TYPES NamedType
        NamespacedType UnboundedSequence UnboundedString UnboundedWString""",
    "rclpy.wait_for_message": "rclpy.node: wait_for_message",
    "rosidl_runtime_py.get_interfaces": """
        rosidl_runtime_py.utilities: get_action_interfaces get_interface_packages get_interface_path
        get_interfaces get_message_interfaces get_service_interfaces""",
    "rosidl_runtime_py.import_message": "rosidl_runtime_py.utilities: import_message_from_namespaced_type",
    "rosidl_runtime_py.set_message": "rosidl_runtime_py.convert: set_message_fields",
    "sensor_msgs_py.numpy_compat": "sensor_msgs_py: structured_to_unstructured unstructured_to_structured",
    "sensor_msgs_py.point_cloud2": """
        sensor_msgs_py: DUMMY_FIELD_PREFIX create_cloud create_cloud_xyz32 dtype_from_fields read_points
        read_points_list read_points_numpy""",
    "tf2_py": """
        tf2_ros.buffer_core: BufferCore ConnectivityException ExtrapolationException
        InvalidArgumentException LookupException TimeoutException TransformException""",
    "tf2_ros.static_transform_broadcaster": "tf2_ros.buffer: StaticTransformBroadcaster",
    "tf2_ros.transform_broadcaster": "tf2_ros.buffer: TransformBroadcaster",
    "tf2_ros.transform_listener": """
        tf2_ros.buffer: DEFAULT_STATIC_TF_TOPIC DEFAULT_TF_TOPIC TransformListener""",
}
"""Module to the file that it shares, and to what `import *` takes from it; `a=b` is called b in the file."""

_SHARED = {
    "ament_index_python": """
        ament_index_python.constants ament_index_python.search_paths ament_index_python.resources
        ament_index_python.packages""",
    "launch.actions.basic": "launch.actions.shutdown_action",
    "launch.conditions": "launch.conditions.evaluate_condition_expression_impl",
    "launch.description": """
        launch.launch_description launch.event launch.launch_context launch.condition launch.substitution
        launch.some_substitutions_type launch.launch_description_entity launch.some_entities_type
        launch.event_handler launch.invalid_launch_file_error""",
    "launch.descriptions": "launch.descriptions.executable",
    "launch.event_handlers": """
        launch.event_handlers.event_named launch.event_handlers.on_action_event_base
        launch.event_handlers.on_execution_complete launch.event_handlers.on_include_launch_description
        launch.event_handlers.on_process_exit launch.event_handlers.on_process_io
        launch.event_handlers.on_process_start""",
    "launch.frontend.parser": "launch.frontend.entity launch.frontend.expose launch.frontend.type_utils",
    "launch.launch_description_sources": "launch.launch_description_source",
    "launch.utilities": """
        launch.utilities.type_utils launch.utilities.class_tools_impl
        launch.utilities.ensure_argument_type_impl launch.utilities.normalize_to_list_of_entities_impl
        launch.utilities.normalize_to_list_of_substitutions_impl
        launch.utilities.perform_substitutions_impl
        launch.utilities.visit_all_entities_and_collect_futures_impl""",
    "launch_ros.event_handlers": "launch_ros.event_handlers.on_state_transition",
    "launch_ros.events": """
        launch_ros.events.matchers launch_ros.events.matchers.matches_node_name
        launch_ros.events.lifecycle.change_state launch_ros.events.lifecycle.state_transition
        launch_ros.events.lifecycle.lifecycle_node_matchers""",
    "launch_ros.parameter_descriptions": "launch_ros.parameters_type",
    "launch_ros.substitutions": """
        launch_ros.substitutions.executable_in_package launch_ros.substitutions.find_package
        launch_ros.substitutions.parameter""",
    "launch_ros.utilities": """
        launch_ros.remap_rule_type launch_ros.utilities.normalize_remap_rule
        launch_ros.utilities.track_node_names launch_ros.utilities.namespace_utils
        launch_ros.utilities.normalize_parameters launch_ros.utilities.evaluate_parameters
        launch_ros.utilities.to_parameters_list""",
    "launch_testing": "launch_testing.decorator launch_testing.print_arguments",
    "launch_testing.actions": """
        launch_testing.actions.ready launch_testing.event_handlers.stdout_ready_listener""",
    "launch_testing.asserts": """
        launch_testing.asserts.assert_exit_codes launch_testing.asserts.assert_output
        launch_testing.asserts.assert_sequential_output launch_testing.tools.text""",
    "launch_testing.io_handler": "launch_testing.proc_info_handler",
    "launch_testing.loader": """
        launch_testing.ready_aggregator launch_testing.ready_to_test_action_timeout
        launch_testing.parametrize launch_testing.post_shutdown_test""",
    "launch_testing.test_runner": """
        launch_testing.parse_arguments launch_testing.test_result launch_testing.junitxml""",
    "launch_testing.tools": """
        launch_testing.tools.output launch_testing.tools.process""",
    "launch_testing.util": "launch_testing.util.keep_alive_proc launch_testing.util.proc_lookup",
    "launch_testing_ros": """
        launch_testing_ros.data_republisher launch_testing_ros.message_pump launch_testing_ros.test_runner
        launch_testing_ros.tools.output launch_testing_ros.wait_for_topics""",
    "launch_xml": "launch_xml.launch_description_sources.xml_launch_description_source",
    "launch_yaml": "launch_yaml.launch_description_sources.yaml_launch_description_source",
    "rclpy.logging": "rclpy.impl.logging_severity",
    "tf2_geometry_msgs": "tf2_geometry_msgs.tf2_geometry_msgs",
    "tf2_sensor_msgs": "tf2_sensor_msgs.tf2_sensor_msgs",
}
"""File to modules that have all its names."""

_REFUSED = {
    "launch.event_handlers.on_shutdown": "gen_handler",
    "launch.frontend.parse_substitution": "ExtractSubstitution get_grammar_path",
    "launch.launch_introspector": """
        format_action format_entities format_event_handler format_substitutions indent tree_like_indent""",
    "launch.logging.handlers": "with_per_logger_formatting",
    "launch.utilities": "AsyncSafeSignalManager",
    "launch.utilities.signal_management": "AsyncSafeSignalManager",
    "launch_ros.actions": "ComposableNodeContainer LoadComposableNodes",
    "launch_ros.descriptions": "ComposableNode",
    "launch_ros.utilities.plugin_support": """
        PluginException get_upper_bound_caret_version satisfies_version""",
    "launch_ros.actions.node": """
        NodeActionExtension g_entry_points_impl get_extensions instantiate_extension""",
    "launch_testing": "legacy",
    "launch_testing.loader": "slim_formatwarning",
    "launch_testing.pytest.hooks": """
        LaunchTestFailureRepr find_launch_test_entrypoint pytest_addhooks
        pytest_launch_collect_makemodule""",
    "launch_testing.pytest.hookspecs": "pytest_launch_collect_makemodule",
    "launch_testing_ros.pytest.hooks": "LaunchROSTestItem LaunchROSTestModule",
    "message_filters": "Chain",
    "rclpy.context": "g_logging_configure_lock g_logging_ref_count",
    "rclpy.event_handler": "EventHandler QoSEventHandler",
    "rclpy.impl.rcutils_logger": """
        CallerId LoggingFilter Once SkipFirst Throttle get_filters_from_kwargs supported_filters""",
    "rclpy.signals": "SignalHandlerGuardCondition",
    "rosidl_parser": "parse_idl_file parse_idl_string",
    "tf2_ros": "BufferServer",
}
"""Module to names. A module that has no file here consists of them."""

_HINTS = {
    "launch.frontend.parse_substitution": "; here text is read without a grammar file",
    "launch_ros.actions.node": "; here Node takes no extensions",
    "launch_testing.pytest.hooks": "; here the plugin has no hooks of its own",
    "message_filters": ". Filters are chained by giving one to the next as well: Cache(Subscriber(...))",
    "rosidl_parser": "; here .msg, .srv and .action files are read",
    "tf2_ros": ", in C++: ros2 run tf2_ros buffer_server",
}
"""How the sentence goes on for the names of a module."""

_FILES = {name: text.split(":")[0].strip() for name, text in _PLACES.items()} | {
    name: file for file, names in _SHARED.items() for name in names.split()
}


def refused_names(module: str) -> list[str]:
    """The names of a module, by its public name, that are not covered."""
    return _REFUSED.get(module, "").split()


def packages_by_file() -> dict[str, str]:
    """Each package that has modules without a file, with one of these files."""
    return {name.partition(".")[0]: file for name, file in _FILES.items()}


def names_of_others(file: str) -> set[str]:
    """What modules without a file take from a file by name."""
    taken = (
        _PLACES[name].partition(":")[2].split()
        for name, own in _FILES.items()
        if name in _PLACES and own == file
    )
    return {name.partition("=")[2] or name for names in taken for name in names}


def refused_modules(package: str) -> list[str]:
    """The modules of a package that have names which are not covered."""
    return [name for name in _REFUSED if name.partition(".")[0] == package]


def not_covered(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for a module: names in the table of refused names raise NotImplementedError."""

    def get(name: str) -> Any:
        if name in refused_names(module):
            told = f"{module}.{name} is not covered by pocket_ros; a full ROS 2 has it"
            raise NotImplementedError(told + _HINTS.get(module, ""))
        if module in _FILES and not name.startswith("__"):
            return getattr(import_module(f"pocket_ros.{_FILES[module]}"), name)
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return get


class NotCovered:
    """A member of a class that only a full ROS 2 has: asking for it raises NotImplementedError."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._told = f"{owner.__qualname__}.{name} is not covered by pocket_ros; a full ROS 2 has it"

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise NotImplementedError(self._told)


def has_place(public_name: str) -> bool:
    """Whether a module that has no file here is one of upstream's, or holds one."""
    return any(
        name == public_name or name.startswith(f"{public_name}.")
        for table in (_FILES, _REFUSED)
        for name in table
    )


def fill(module: ModuleType, public_name: str, content: Mapping[str, Any] = {}) -> None:
    """Give a module that has no file what upstream has in it; `content` is what is not in the table."""
    file, _, names = _PLACES.get(public_name, "").partition(":")
    file, content = file.strip(), dict(content)
    for name in names.split():
        public, _, own = name.partition("=")
        content[public] = getattr(import_module(f"pocket_ros.{file}"), own or public)
    module.__doc__ = (
        f"The public place of {', '.join(content)}." if content else "A module that a full ROS 2 has."
    )
    if content:
        content["__all__"] = list(content)
    # `python -c "import a.b.c"` asks a module for its path before it looks for one inside
    module.__path__ = []
    vars(module).update(content, __getattr__=not_covered(public_name))


def offer_modules(package: str, modules: Mapping[str, Mapping[str, Any]]) -> None:
    """Let names be imported from modules of a package: module name -> what it holds, by name."""
    parent = sys.modules[package]
    for name, content in modules.items():
        full = f"{package}.{name}"
        module = ModuleType(full)
        module.__spec__ = ModuleSpec(full, None)
        fill(module, full.removeprefix("pocket_ros."), content)
        sys.modules[full] = module
        if name not in vars(parent):  # a function of the module's name is what the package is asked for
            setattr(parent, name, module)


def offer_places(package: str) -> None:
    """Let the modules of a package that have no file be there as its attributes, once it is imported."""
    prefix = package.removeprefix("pocket_ros.") + "."
    tabled = [name.removeprefix(prefix) for name in _FILES if name.startswith(prefix)]
    offer_modules(package, {name: {} for name in tabled if "." not in name})


def offer_class_modules(package: str, **others: list[Any]) -> None:
    """Let every class in the `__all__` of a package be imported from a module of its own name in snake case.

    So it is in `launch`: `from launch.substitutions.path_join_substitution import PathJoinSubstitution`.
    Modules that exist are left alone. `others` are modules of other names, with
    the classes and functions in them.
    """
    from pkgutil import iter_modules  # slow to import, and rclpy does without

    parent = sys.modules[package]
    existing = {module.name for module in iter_modules(parent.__path__)}
    classes = [c for c in (getattr(parent, name, None) for name in parent.__all__) if isinstance(c, type)]
    modules = {_WORD.sub("_", c.__name__).lower(): [c] for c in classes} | others
    content = {
        n: {item.__name__: item for item in items} for n, items in modules.items() if n not in existing
    }
    for name in content:
        file = modules[name][0].__module__.removeprefix("pocket_ros.")
        _FILES.setdefault(f"{package}.{name}".removeprefix("pocket_ros."), file)
    offer_modules(package, content)
    offer_places(package)
