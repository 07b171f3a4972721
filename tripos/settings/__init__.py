"""Settings of a project and a command: `tripos.toml`, environment, options, API keys and trust."""
