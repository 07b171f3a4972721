"""Stores on object stores: objects, the catalog, session logs, leases, and the local copy."""
