from .cases import (
    Case as Case,
    CaseSource as CaseSource,
    Planned as Planned,
    SubsetTags as SubsetTags,
    drawn_counts as drawn_counts,
    planned_calls as planned_calls,
    planned_steps as planned_steps,
)
from .data_folders import (
    HUB as HUB,
    PROGRAM as PROGRAM,
    SHIPPED as SHIPPED,
    DataFolders as DataFolders,
    FileAccess as FileAccess,
    Outside as Outside,
    access_of as access_of,
    plain_part as plain_part,
    source_access as source_access,
)
from .files import (
    DEEPEST as DEEPEST,
    PACKED as PACKED,
    KnownMedia as KnownMedia,
    MediaStore as MediaStore,
    check_nesting as check_nesting,
    dataset_files as dataset_files,
    files_of as files_of,
    joined_rows as joined_rows,
    key_text as key_text,
    placed_in as placed_in,
    plain_value as plain_value,
    rows_in as rows_in,
    shortest_decimal as shortest_decimal,
    type_of as type_of,
)
from .row_errors import (
    WORDS as WORDS,
    Reason as Reason,
    Rejection as Rejection,
    note as note,
    one_of_several as one_of_several,
)
from .row_store import (
    MadeRow as MadeRow,
    Origins as Origins,
    RowFile as RowFile,
)
from .selection import (
    NotApproved as NotApproved,
    NotRunnable as NotRunnable,
    Selection as Selection,
    Shard as Shard,
    StopRule as StopRule,
    check_approved as check_approved,
    check_recordable as check_recordable,
    data_of as data_of,
)
from .slot_choice import (
    Choice as Choice,
)
from .slots import (
    RowSlot as RowSlot,
    SlotSource as SlotSource,
    looked_into as looked_into,
)
from .sources import (
    Origin as Origin,
    SourceRow as SourceRow,
    Sources as Sources,
    SplitCondition as SplitCondition,
    holds as holds,
    places_by_value as places_by_value,
    split as split,
)
from .trust import (
    TRUSTED as TRUSTED,
    UNTRUSTED as UNTRUSTED,
    Trust as Trust,
    TrustError as TrustError,
)
