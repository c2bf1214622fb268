"""Another node of the same name: both answer every service and move the robots of both."""

from __future__ import annotations

from rclpy.node import Node


class NamesakeWarning:
    """Warns once, as soon as a second node of the name of `node` is in its ROS domain."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._told = False

    def look(self) -> None:
        """Look at the graph of nodes; nodes that start later are found by a later look."""
        own = (self._node.get_name(), self._node.get_namespace())
        if self._told or self._node.get_node_names_and_namespaces().count(own) < 2:
            return
        self._told = True
        self._node.get_logger().error(
            f"another node called {own[1].rstrip('/')}/{own[0]} is in this ROS domain: commands reach both, clients "
            "get the answer of either. Give one of them another namespace or ROS_DOMAIN_ID"
        )
