"""A thin layer over Cyclone DDS: raw CDR in and out, wait sets, discovery. It knows nothing of ROS names."""
