from .report import (
    show_report as show_report,
    write_junit as write_junit,
)
