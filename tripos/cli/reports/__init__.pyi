from .report import (
    show_headline as show_headline,
    write_junit as write_junit,
)
