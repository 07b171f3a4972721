from .loading import (
    find_plugin as find_plugin,
    known_early as known_early,
    read_python as read_python,
)
from .signatures import (
    PythonFunction as PythonFunction,
)
