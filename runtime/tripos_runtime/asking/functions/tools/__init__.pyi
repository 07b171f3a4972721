from .tool_functions import (
    IMPURE as IMPURE,
    Done as Done,
    ToolFunction as ToolFunction,
    open_tools as open_tools,
    stand_in as stand_in,
)
