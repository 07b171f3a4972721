from .bucket import (
    LATE as LATE,
    Bucket as Bucket,
    Leases as Leases,
    Session as Session,
    address_of as address_of,
    collect_objects as collect_objects,
    only_one as only_one,
    panics_as_errors as panics_as_errors,
)
from .commits import (
    COMMITS as COMMITS,
    Commit as Commit,
    ParquetPart as ParquetPart,
    check_name as check_name,
    new_name as new_name,
    number_of as number_of,
    read_commit as read_commit,
    sync as sync,
)
from .digests import (
    VERIFIED_BYTES as VERIFIED_BYTES,
    sealed as sealed,
    sha256_of as sha256_of,
    unsealed as unsealed,
)
from .folders import (
    KEYS as KEYS,
    SUMS as SUMS,
    VALUES as VALUES,
    check_links as check_links,
    is_plain as is_plain,
    lies_in as lies_in,
    open_plain as open_plain,
    part_path as part_path,
    read_plain as read_plain,
    why_no_folder as why_no_folder,
)
from .index import (
    AGAIN as AGAIN,
    FAILED as FAILED,
    RESULTS as RESULTS,
    SIZE as SIZE,
    Halves as Halves,
    RowIndex as RowIndex,
    halves as halves,
    has_all as has_all,
    has_failed as has_failed,
    is_failed as is_failed,
    pack as pack,
    pack_column as pack_column,
    rows_by_part as rows_by_part,
)
from .journal import (
    JOURNAL as JOURNAL,
    REJECTED as REJECTED,
    SUFFIX as SUFFIX,
    JournalContent as JournalContent,
    JournalSegment as JournalSegment,
    Reserve as Reserve,
    read_segment as read_segment,
    segments as segments,
    to_line as to_line,
)
from .locks import (
    COMPACTION as COMPACTION,
    IMPORT as IMPORT,
    LIST as LIST,
    PARTS_LOCK as PARTS_LOCK,
    SEGMENT as SEGMENT,
    SHOWN as SHOWN,
    Claims as Claims,
    Locks as Locks,
    Peers as Peers,
    Ticks as Ticks,
    place_of as place_of,
)
from .parts import (
    FORMER as FORMER,
    GROUP_ROWS as GROUP_ROWS,
    PARTS as PARTS,
    altered as altered,
    check_part as check_part,
    conform as conform,
    count_rows as count_rows,
    layout as layout,
    misleads as misleads,
    new_part as new_part,
    reading as reading,
    stem_of as stem_of,
    verify_part as verify_part,
)
from .rows import (
    Row as Row,
    check_columns as check_columns,
    get_table as get_table,
    to_arrow as to_arrow,
)
from .schemas import (
    DRAFTS as DRAFTS,
    JUDGEMENTS as JUDGEMENTS,
    RUN_ITEMS as RUN_ITEMS,
    RUN_SLOTS as RUN_SLOTS,
    RUN_STEPS as RUN_STEPS,
    RUNS as RUNS,
    SAMPLES as SAMPLES,
    TABLES as TABLES,
    TURNS as TURNS,
)
from .soundness import (
    check_rows as check_rows,
    check_schema as check_schema,
    content_problem as content_problem,
)
from .store import (
    MARKER as MARKER,
    WORKS as WORKS,
    Store as Store,
    Tell as Tell,
)
from .table_schema import (
    BATCHES as BATCHES,
    CIRCUMSTANCES as CIRCUMSTANCES,
    HUMAN as HUMAN,
    PROMOTIONS as PROMOTIONS,
    RELEASE as RELEASE,
    REQUEST as REQUEST,
    RUN_ENDS as RUN_ENDS,
    TableSchema as TableSchema,
)
