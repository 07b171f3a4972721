from .codes import (
    CODES as CODES,
    find_page as find_page,
)
from .encodings import (
    encoding_of as encoding_of,
    not_utf8 as not_utf8,
    to_utf8 as to_utf8,
)
from .formats import (
    to_data as to_data,
    to_github as to_github,
    to_sarif as to_sarif,
)
from .model import (
    EVERY as EVERY,
    Diagnostic as Diagnostic,
    Diagnostics as Diagnostics,
    Edit as Edit,
    Label as Label,
    deny as deny,
    nearest as nearest,
)
from .quantities import (
    abbreviated as abbreviated,
    counted as counted,
    duration as duration,
    file_size as file_size,
    per_second as per_second,
    percent as percent,
    usd as usd,
)
from .suppressions import (
    Silenced as Silenced,
    split_silenced as split_silenced,
)
from .text import (
    MOST_SHOWN as MOST_SHOWN,
    render_silenced as render_silenced,
    render_text as render_text,
    summary as summary,
)
from .translation import (
    LANGUAGE as LANGUAGE,
    LANGUAGES as LANGUAGES,
    localized as localized,
    localized_page as localized_page,
    named_language as named_language,
    reader_language as reader_language,
)
from .wrapping import (
    display_width as display_width,
    wrap as wrap,
)
