"""Reward models: trained on pairs of a better and a worse reply, and held against what they may have learned instead.

`pairing` makes pairs of a spec's data, `pairs` reads them, `sides` keeps what is tested apart from what is learned,
`heads` and `tuning` learn, `audit` holds the figure against what explains it away, `making` does all of it in order.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
