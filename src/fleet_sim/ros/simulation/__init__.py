"""simulation_interfaces, the services that simulators have in common: one subject a file, all in `interface`."""
