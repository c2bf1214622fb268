"""What vehicles do besides driving: the actions of nodes, edges and instant messages, one class each."""
