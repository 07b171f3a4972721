from .files import (
    ViewFiles as ViewFiles,
)
from .folder import (
    write_folder as write_folder,
)
from .one_file import (
    write_report as write_report,
)
from .server import (
    serve as serve,
)
