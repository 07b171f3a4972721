"""Programs that run inside the sandbox: a model's code, its tests, and functions of tools."""
