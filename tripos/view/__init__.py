"""The results of a store as a web page: its files, a server on loopback, a folder, and a single HTML file.

The page itself is in `site/`, built into `built/`; docs/view.md describes the files.
"""
