"""A store on an object store: objects, the catalog, logs of sessions, leases, and the copy on this machine."""
