"""The results of a store as a web page: its files, a server on loopback, a folder, and a single HTML file.

The page itself is in `site/`, built into `built/`; docs/how-to/read-the-report.md describes the files.
"""
