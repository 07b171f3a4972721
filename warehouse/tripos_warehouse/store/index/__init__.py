"""An index of committed rows: by their names, what their status is and where they lie, at 25 bytes a row.

It is made of sorted runs, one for what was there at first and smaller ones for what came since; runs of like size
become one, so a million rows lie in a handful of them. A run of more rows than that lies on the disk.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
