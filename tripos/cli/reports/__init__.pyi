from .next_commands import (
    store_options as store_options,
)
from .report import (
    show_headline as show_headline,
    write_junit as write_junit,
)
