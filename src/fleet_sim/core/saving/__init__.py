"""States as files: values written as JSON and arrays, the forms of what is not a plain value, and the file itself."""
