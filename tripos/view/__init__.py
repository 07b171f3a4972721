"""The results of a store as a page: the files that it reads, a server on loopback, a folder, and one file.

The page itself is in `site/`, built into `built/`; docs/view.md describes the files.
"""
