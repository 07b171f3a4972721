from .loading import (
    find_plugin as find_plugin,
    is_known_early as is_known_early,
    read_python as read_python,
    read_tool_function as read_tool_function,
)
from .programs import (
    SHIPPED as SHIPPED,
    ShippedProgram as ShippedProgram,
    read_program as read_program,
)
from .signatures import (
    PythonFunction as PythonFunction,
)
