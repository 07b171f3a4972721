"""Settings: `tripos.toml`, the environment and options, and their meaning to the runtime."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
