"""Windows. Only this package imports tkinter."""
