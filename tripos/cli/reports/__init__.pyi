from .leaderboard import (
    together_lines as together_lines,
)
from .report import (
    show_headline as show_headline,
    store_options as store_options,
    write_junit as write_junit,
)
