"""Where releases lie: folders, zips, URLs and the Hugging Face Hub, and the downloads from there."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
