"""The language server, which editors speak with over standard input and output.

`serve` speaks with one client until it says goodbye or is gone.
"""

from tripos.lsp.server import serve as serve
