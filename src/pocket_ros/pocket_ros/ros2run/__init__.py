"""What `ros2 run` is made of, for programs that use it."""
