"""What each tag means."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from .. import actions
from ..conditions import IfCondition, UnlessCondition
from ..launch_description_entity import LaunchDescriptionEntity
from ..launch_description_sources.any_launch_description_source import AnyLaunchDescriptionSource
from ..utilities.embedded import split_embedded
from .entity import EmbeddedText, Entity, InvalidLaunchEntityError
from .parameter_tags import parameters

Options = dict[str, Any]
Make = Callable[[Entity, Options], LaunchDescriptionEntity]


def to_actions(entities: Iterable[Entity]) -> list[LaunchDescriptionEntity]:
    """The actions that tags stand for, with their conditions.

    Raises InvalidLaunchEntityError for a tag or attribute that does not exist.
    """
    return [_to_action(entity) for entity in entities]


def _to_action(entity: Entity) -> LaunchDescriptionEntity:
    tag = entity.tag.replace("-", "_")
    if tag not in _TAGS:
        near = difflib.get_close_matches(tag, _TAGS, n=1)
        hint = f"did you mean <{near[0]}>?" if near else f"there are: {', '.join(sorted(_TAGS))}"
        raise InvalidLaunchEntityError(f"unknown tag <{entity.tag}>; {hint}")
    action = _TAGS[tag](entity, _condition(entity))
    entity.finish()
    return action


def _condition(entity: Entity) -> Options:
    when, unless = entity.optional("if"), entity.optional("unless")
    if when is not None and unless is not None:
        raise InvalidLaunchEntityError(f"<{entity.tag}> has both 'if' and 'unless'; nest it in a <group>")
    if when is not None:
        return {"condition": IfCondition(when)}
    return {} if unless is None else {"condition": UnlessCondition(unless)}


def _pairs(entity: Entity, tag: str, first: str, second: str) -> list[tuple[EmbeddedText, EmbeddedText]]:
    found = []
    for child in entity.children:
        if child.tag == tag:
            found.append((child.text(first), child.text(second)))
            child.finish()
    return found


def _words(text: EmbeddedText | None) -> list[EmbeddedText]:
    """Command line words; quotes and `$(…)` hold theirs together. Raises InvalidLaunchEntityError."""
    if text is None:
        return []
    try:
        return [EmbeddedText(word) for word in split_embedded(text.text)]
    except ValueError as error:
        raise InvalidLaunchEntityError(f"'{text.text}' is no command line: {error}") from error


def _arg(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    choices = [child.text("value").text for child in entity.inside({"choice"})]
    description = entity.optional("description")
    return actions.DeclareLaunchArgument(
        entity.text("name").text,
        default_value=entity.optional("default"),
        description=None if description is None else description.text,
        choices=choices or None,
        **options,
    )


def _include(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    entity.inside({"arg", "let"})
    arguments = [*_pairs(entity, "arg", "name", "value"), *_pairs(entity, "let", "name", "value")]
    source = AnyLaunchDescriptionSource(entity.text("file"))
    return actions.IncludeLaunchDescription(source, launch_arguments=arguments, **options)


def _group(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    scoped, forwarding = entity.flag("scoped", True), entity.flag("forwarding", True)
    kept: dict[Any, Any] = dict(_pairs(entity, "keep", "name", "value"))
    held: Any = to_actions(child for child in entity.children if child.tag != "keep")
    return actions.GroupAction(
        held, scoped=scoped, forwarding=forwarding, launch_configurations=kept, **options
    )


def _reset(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    entity.inside({"keep"})
    return actions.ResetLaunchConfigurations(dict(_pairs(entity, "keep", "name", "value")), **options)


def _append_environment(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    name, value = entity.text("name"), entity.text("value")
    given: Options = {"prepend": entity.optional("prepend"), "separator": entity.optional("separator")}
    given = {key: text for key, text in given.items() if text is not None}
    return actions.AppendEnvironmentVariable(name, value, **given, **options)


def _timer(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    return actions.TimerAction(period=entity.text("period"), actions=to_actions(entity.children), **options)


def _log(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    return actions.LogInfo(msg=entity.text("message"), **options)


def _shutdown(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    reason = entity.optional("reason")
    return actions.Shutdown(**({} if reason is None else {"reason": reason.text}), **options)


def _process_options(entity: Entity) -> Options:
    """The attributes that `executable` and `node` share."""
    given: Options = {
        "cwd": entity.optional("cwd"),
        "output": entity.optional("output"),
        "prefix": entity.optional("launch-prefix"),
        "respawn": entity.optional("respawn"),
        "respawn_delay": entity.optional("respawn_delay"),
        "sigterm_timeout": entity.optional("sigterm_timeout"),
        "sigkill_timeout": entity.optional("sigkill_timeout"),
    }
    options = {name: value for name, value in given.items() if value is not None}
    if entity.flag("emulate_tty", False):
        options["emulate_tty"] = True
    environment = _pairs(entity, "env", "name", "value")
    if environment:
        options["additional_env"] = dict(environment)
    on_exit = entity.optional("on_exit")
    if on_exit is not None:
        if on_exit.text != "shutdown":
            raise InvalidLaunchEntityError(
                f"<{entity.tag} on_exit> can only be 'shutdown', got '{on_exit.text}'"
            )
        options["on_exit"] = [actions.Shutdown()]
    return options


def _executable(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    entity.inside({"env"})
    command = entity.text("cmd")
    shell = entity.flag("shell", False)
    return actions.ExecuteProcess(
        cmd=[command] if shell else _words(command),
        shell=shell,
        name=entity.optional("name"),
        **_process_options(entity),
        **options,
    )


def _node(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    from ...launch_ros.actions import Node

    entity.inside({"param", "remap", "env"})
    return Node(
        package=entity.optional("pkg"),
        executable=entity.text("exec"),
        name=entity.optional("name"),
        namespace=entity.optional("namespace"),
        exec_name=entity.optional("exec_name"),
        arguments=_words(entity.optional("args")),
        ros_arguments=_words(entity.optional("ros_args")),
        parameters=parameters(entity),
        remappings=_pairs(entity, "remap", "from", "to"),
        **_process_options(entity),
        **options,
    )


def _ros(name: str, *attributes: str) -> Make:
    """A tag that is an action of launch_ros with text arguments."""

    def make(entity: Entity, options: Options) -> LaunchDescriptionEntity:
        from ...launch_ros import actions as ros_actions

        action: LaunchDescriptionEntity = getattr(ros_actions, name)(
            *(entity.text(attribute) for attribute in attributes), **options
        )
        return action

    return make


def _set_parameter(entity: Entity, options: Options) -> LaunchDescriptionEntity:
    from ...launch_ros.actions import SetParameter
    from ...launch_ros.parameter_descriptions import ParameterValue

    return SetParameter(entity.text("name"), ParameterValue(entity.text("value")), **options)


def _plain(action: Callable[..., LaunchDescriptionEntity], *attributes: str) -> Make:
    """A tag that is an action with text arguments."""

    def make(entity: Entity, options: Options) -> LaunchDescriptionEntity:
        return action(*(entity.text(attribute) for attribute in attributes), **options)

    return make


_TAGS: dict[str, Make] = {
    "append_env": _append_environment,
    "arg": _arg,
    "executable": _executable,
    "group": _group,
    "include": _include,
    "let": _plain(actions.SetLaunchConfiguration, "name", "value"),
    "log": _log,
    "node": _node,
    "push_ros_namespace": _ros("PushROSNamespace", "namespace"),
    "reset": _reset,
    "reset_env": _plain(actions.ResetEnvironment),
    "ros_timer": _ros("ROSTimer"),
    "set_env": _plain(actions.SetEnvironmentVariable, "name", "value"),
    "set_parameter": _set_parameter,
    "set_parameters_from_file": _ros("SetParametersFromFile", "filename"),
    "set_remap": _ros("SetRemap", "from", "to"),
    "set_ros_log_dir": _ros("SetROSLogDir", "new_log_dir"),
    "set_use_sim_time": _ros("SetUseSimTime", "value"),
    "shutdown": _shutdown,
    "timer": _timer,
    "unset_env": _plain(actions.UnsetEnvironmentVariable, "name"),
    "unset_let": _plain(actions.UnsetLaunchConfiguration, "name"),
}
