"""`python -m tripos` is the command line."""

from tripos.command.main import main

main()
