"""The language server: what editors ask of specs, over the Language Server Protocol. `server.py` starts it."""
