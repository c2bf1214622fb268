"""Buildings and their fleets: sites, traffic, orders, equipment, batteries, and the interfaces of fleet managers."""
