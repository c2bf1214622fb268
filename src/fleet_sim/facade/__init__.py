"""What users call on a simulation besides stepping it, by subject; MultiRobotSimulationCore inherits all of it."""
