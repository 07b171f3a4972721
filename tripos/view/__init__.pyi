from .files import (
    ViewFiles as ViewFiles,
)
from .folder import (
    write_folder as write_folder,
    write_page as write_page,
)
from .html_report import (
    write_board as write_board,
    write_report as write_report,
)
from .pictures import (
    grid_means as grid_means,
)
from .server import (
    serve as serve,
)
