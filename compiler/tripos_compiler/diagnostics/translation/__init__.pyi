from .catalogue import (
    localized as localized,
    translations as translations,
)
from .prose import (
    localized_page as localized_page,
    page_translations as page_translations,
    paragraphs as paragraphs,
)
from .reader import (
    LANGUAGE as LANGUAGE,
    LANGUAGES as LANGUAGES,
    named_language as named_language,
    reader_language as reader_language,
)
from .templates import (
    MessageTemplate as MessageTemplate,
    parse_template as parse_template,
)
