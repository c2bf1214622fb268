"""When robots that serve orders charge, and where: one policy per class."""
