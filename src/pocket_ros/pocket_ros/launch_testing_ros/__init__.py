"""Help for launch tests of nodes."""

from . import tools
from .data_republisher import DataRepublisher
from .message_pump import MessagePump
from .test_runner import LaunchTestRunner
from .wait_for_topics import WaitForTopics

__all__ = ["DataRepublisher", "LaunchTestRunner", "MessagePump", "WaitForTopics", "tools"]
