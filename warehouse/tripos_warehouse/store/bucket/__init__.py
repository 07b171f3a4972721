"""A store on an object store: objects, the catalog, logs of sessions, leases, and the copy on this machine."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
