from .figures import (
    graders_of as graders_of,
    sql_of as sql_of,
)
from .parts import (
    has_apart as has_apart,
)
