from .comparisons import (
    copies_by_field as copies_by_field,
    copies_by_key as copies_by_key,
    datasets_sharing_files as datasets_sharing_files,
    identifies_rows as identifies_rows,
    unmarked_copies as unmarked_copies,
)
from .containment import comparable_text as comparable_text
from .copies import digests as digests
