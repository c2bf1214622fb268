"""The public names of upstream's packages that pocket_ros does not cover.

Most belong to the daemon of `ros2`, to the insides of its commands and to those of pytest plugins. A program
that asks for one is told so by name, with NotImplementedError. `conformance/run.py --suites -` counts them in
a checkout of upstream, and finds names that are neither here nor in this table.
"""

from __future__ import annotations

_NAMES = {
    "launch.event_handlers.on_shutdown": "gen_handler",
    "launch.frontend.parse_substitution": "ExtractSubstitution get_grammar_path",
    "launch.launch_introspector": """
        format_action format_entities format_event_handler format_substitutions indent tree_like_indent""",
    "launch.logging.handlers": "with_per_logger_formatting",
    "launch.utilities": "AsyncSafeSignalManager",
    "launch.utilities.signal_management": "AsyncSafeSignalManager",
    "launch_pytest.fixture": "scope_gt",
    "launch_pytest.plugin": """
        from_parent generate_test_items get_launch_test_fixture get_launch_test_fixturename
        get_ready_to_test_action has_shutdown_kwarg is_launch_test is_launch_test_mark_valid
        is_same_launch_test_fixture is_shutdown_test is_valid_test_item iterate_ready_to_test_actions
        need_shutdown_test_item pytest_fixture_setup pytest_pyfunc_call run_until_complete wrap_asyncgen
        wrap_asyncgen_fscope wrap_coroutine wrap_func wrap_generator wrap_generator_fscope""",
    "launch_pytest.tools.process": "register_event_handler",
    "launch_ros.actions.node": """
        NodeActionExtension g_entry_points_impl get_extensions instantiate_extension""",
    "launch_testing.legacy": "actions",
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
    "ros2action.command.action": "ActionCommand",
    "ros2action.verb.send_goal": "send_goal",
    "ros2cli.command": "MutableString SuppressUsageOutput add_subparsers",
    "ros2cli.command.daemon": "DaemonCommand",
    "ros2cli.command.extension_points": "ExtensionPointsCommand",
    "ros2cli.command.extensions": "ExtensionsCommand",
    "ros2cli.daemon": """
        RequestHandler get_address get_port get_xmlrpc_server_url main make_xmlrpc_server serve""",
    "ros2cli.daemon.daemonize": "PicklerForProcess daemonize main",
    "ros2cli.helpers": "before_invocation bind pretty_print_call",
    "ros2cli.node.daemon": "DaemonNode",
    "ros2cli.node.network_aware": "NetworkAwareNode get_interfaces_ip_addresses",
    "ros2cli.verb": "add_task_arguments",
    "ros2cli.verb.daemon": "VerbExtension",
    "ros2cli.verb.daemon.start": "StartVerb",
    "ros2cli.verb.daemon.status": "StatusVerb",
    "ros2cli.verb.daemon.stop": "StopVerb",
    "ros2cli.xmlrpc": "marshal",
    "ros2cli.xmlrpc.client": "ProtocolError ServerProxy",
    "ros2cli.xmlrpc.local_server": "LocalXMLRPCServer get_local_ipaddrs",
    "ros2cli.xmlrpc.marshal": "rclpy",
    "ros2cli.xmlrpc.marshal.generic": """
        dump_any_enum dump_any_with_slots end_any_enum end_any_with_slots fullname""",
    "ros2cli.xmlrpc.marshal.rclpy": "dump_duration end_duration end_type_hash policy_types",
    "ros2component.api": """
        ComponentTypeNameCompleter add_component_arguments package_with_components_name_completer
        run_standalone_container""",
    "ros2component.command.component": "ComponentCommand",
    "ros2doctor.api.format": "CustomWarningFormat custom_warning_format",
    "ros2doctor.api.network": "InterfaceFlags",
    "ros2doctor.api.package": """
        PackageCheck PackageReport compare_versions get_distro_package_versions
        get_local_package_versions""",
    "ros2doctor.api.platform": "PlatformCheck PlatformReport RosdistroReport",
    "ros2doctor.api.rmw": "RMWReport",
    "ros2doctor.command.doctor": "DoctorCommand WtfCommand",
    "ros2doctor.verb.hello": """
        DEFAULT_GROUP DEFAULT_PORT HelloMulticastUDPReceiver HelloMulticastUDPSender HelloPublisher
        HelloSubscriber NODE_NAME_PREFIX SummaryTable positive positive_float positive_int""",
    "ros2interface.command.interface": "InterfaceCommand",
    "ros2interface.verb.list": "print_actions print_messages print_services",
    "ros2interface.verb.packages": "print_packages",
    "ros2interface.verb.show": "InterfaceTextLine ReadStdinPipe",
    "ros2lifecycle.command.lifecycle": "LifecycleCommand",
    "ros2multicast.command.multicast": "MulticastCommand",
    "ros2multicast.verb": "add_group_argument add_port_argument positive_int",
    "ros2node.command.node": "NodeCommand",
    "ros2node.verb.info": "print_names_and_types",
    "ros2param.command.param": "ParamCommand",
    "ros2pkg.api.create": """
        create_package_environment populate_ament_cmake populate_ament_python populate_cmake
        populate_cpp_library populate_cpp_node populate_python_libary populate_python_node""",
    "ros2pkg.command.pkg": "PkgCommand",
    "ros2pkg.verb.prefix": "PACKAGE_NOT_FOUND",
    "ros2pkg.verb.xml": "PACKAGE_NOT_FOUND PACKAGE_XML_NOT_FOUND PACKAGE_XML_TAG_NOT_FOUND",
    "ros2run.command.run": "RunCommand",
    "ros2service.command.service": "ServiceCommand",
    "ros2service.verb.call": "requester",
    "ros2service.verb.echo": "DEFAULT_TRUNCATE_LENGTH",
    "ros2topic.command.topic": "TopicCommand",
    "ros2topic.verb.bw": "DEFAULT_WINDOW_SIZE ROSTopicBandwidth str_bytes str_kilobytes str_megabytes",
    "ros2topic.verb.delay": "DEFAULT_WINDOW_SIZE ROSTopicDelay main",
    "ros2topic.verb.echo": "DEFAULT_TRUNCATE_LENGTH",
    "ros2topic.verb.hz": "DEFAULT_WINDOW_SIZE ROSTopicHz main",
    "ros2topic.verb.pub": "DEFAULT_WAIT_TIME main nonnegative_int publisher",
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


def refused_names(module: str) -> list[str]:
    """The names of a module, by its public name, that are not covered."""
    return _NAMES.get(module, "").split()


def hint(module: str) -> str:
    """What is said besides of the names of a module; begins with a sign of punctuation, or is empty."""
    return _HINTS.get(module, "")


def is_refused_module(module: str) -> bool:
    """Whether a module that has no file here is one of upstream's, or holds one."""
    return module in _NAMES or any(name.startswith(f"{module}.") for name in _NAMES)


def refused_modules(package: str) -> list[str]:
    """The modules of a package that have names which are not covered."""
    return [name for name in _NAMES if name.partition(".")[0] == package]
