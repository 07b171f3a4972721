from .figures import (
    sql_of as sql_of,
)
