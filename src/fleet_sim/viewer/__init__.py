"""What people look at: windows. tkinter is imported here only."""
