"""What `ros2 doctor` checks and reports, for programs that add to it."""
