"""`python -m tripos` is the command line."""

from tripos.cli.main import main

main()
