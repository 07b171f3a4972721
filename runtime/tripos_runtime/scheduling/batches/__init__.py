"""Calls in batches: requests are collected by level, submitted once, and answered hours later.

A batch is in the store before it is submitted, under a marker. So a process that is killed at any instant neither
submits a request again nor forgets one: the next process looks for the marker at the provider first.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
