from .tables import (
    columns_of as columns_of,
    table_lines as table_lines,
)
from .terminal import (
    harmless as harmless,
    is_colored as is_colored,
    print_json as print_json,
    print_stderr as print_stderr,
    terminal_width as terminal_width,
    to_nowhere as to_nowhere,
)
