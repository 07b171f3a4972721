"""The runner of Python code that models write: code and tests apart, each in a sandbox of its own."""
