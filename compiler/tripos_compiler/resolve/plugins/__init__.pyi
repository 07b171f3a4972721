from .loading import (
    find_plugin as find_plugin,
    is_known_early as is_known_early,
    read_python as read_python,
)
from .signatures import (
    PythonFunction as PythonFunction,
)
