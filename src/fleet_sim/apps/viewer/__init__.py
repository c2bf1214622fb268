"""Windows, and the page in the browser. Only this package imports tkinter and viser."""
