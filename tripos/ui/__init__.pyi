from .encodings import (
    json_for as json_for,
    write_every_character as write_every_character,
)
from .failure import (
    GOOD as GOOD,
    INTERRUPTED as INTERRUPTED,
    NOT_HELD as NOT_HELD,
    SOME_FAILED as SOME_FAILED,
    SUBMITTED as SUBMITTED,
    USAGE as USAGE,
    Failure as Failure,
    disk_failure as disk_failure,
    first_line as first_line,
    is_interrupt as is_interrupt,
    told_interrupts as told_interrupts,
)
from .messages import (
    hung as hung,
    show_diagnostic as show_diagnostic,
    show_message as show_message,
)
from .tables import (
    PAPER as PAPER,
    chosen_format as chosen_format,
    columns_of as columns_of,
    show_rows as show_rows,
    show_tables as show_tables,
    table_lines as table_lines,
)
from .terminal import (
    harmless as harmless,
    harmless_json as harmless_json,
    is_colored as is_colored,
    print_json as print_json,
    print_stderr as print_stderr,
    show_json as show_json,
    show_output as show_output,
    show_text as show_text,
    table_width as table_width,
    terminal_width as terminal_width,
    to_nowhere as to_nowhere,
    with_marks as with_marks,
)
from .tool_calls import (
    shown_message as shown_message,
    shown_reply as shown_reply,
)
from .version import (
    __version__ as __version__,
)
