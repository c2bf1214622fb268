"""What rclpy keeps in `rclpy.impl`."""
