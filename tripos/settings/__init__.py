"""Settings: `tripos.toml`, the environment and options, and their meaning to the runtime."""
