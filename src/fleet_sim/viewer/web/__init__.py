"""The live view: a page in the browser, served by the process that simulates. Only this package imports viser."""
