"""Resolution: files, releases, declared names, and the signatures of Python functions, which are read and never run."""
