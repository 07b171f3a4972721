from .decompression import (
    DEEPEST as DEEPEST,
    PACKED as PACKED,
    check_nesting as check_nesting,
    check_size as check_size,
)
from .formats import (
    document_in as document_in,
    placed_in as placed_in,
    rows_in as rows_in,
    unpacked_digest as unpacked_digest,
)
from .joining import (
    dataset_files as dataset_files,
    files_of as files_of,
    joined_rows as joined_rows,
    key_text as key_text,
)
from .media_content import (
    KnownMedia as KnownMedia,
    MediaStore as MediaStore,
    cell_of as cell_of,
)
from .media_formats import (
    medium_of as medium_of,
    type_of as type_of,
)
from .plain_values import (
    plain_value as plain_value,
    shortest_decimal as shortest_decimal,
)
