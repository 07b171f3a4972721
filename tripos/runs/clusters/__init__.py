"""Clusters: the shards of a run as a Slurm array, as a Kubernetes Job, and as tasks of Ray."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
