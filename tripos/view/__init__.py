"""The results of a store as a page: the files that it reads, a server on loopback, a folder, and one file.

The page itself is in `site/`, built into `built/`; docs/view.md describes the files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
