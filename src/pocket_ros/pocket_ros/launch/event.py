"""Something that happened in the launch."""


class Event:
    """Base of all events; subclasses name themselves `launch.events.…`."""

    name = "launch.Event"
