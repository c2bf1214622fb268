"""Objects and agents: handles over the world's columns, what they are spawned from, and their managers."""
