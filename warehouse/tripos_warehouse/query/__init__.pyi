from .answers import (
    cell as cell,
    encode_answer as encode_answer,
    export_cell as export_cell,
    query_rows as query_rows,
    run_query as run_query,
    write_answer as write_answer,
)
from .coded_texts import (
    join_texts as join_texts,
)
from .connection import (
    Connection as Connection,
    StoreConnection as StoreConnection,
    Views as Views,
)
from .floor_sql import (
    placed as placed,
)
from .functions import (
    add_functions as add_functions,
)
from .item_sql import (
    ANALYSIS_OF_SUMS as ANALYSIS_OF_SUMS,
    ITEM_ANALYSIS as ITEM_ANALYSIS,
    SUBSET_GAP as SUBSET_GAP,
)
from .relations import (
    SHOWN as SHOWN,
    Table as Table,
    as_table as as_table,
    glimpse as glimpse,
    reading as reading,
)
from .sandbox import (
    as_relation as as_relation,
    duckdb as duckdb,
    open_box as open_box,
)
from .statements import (
    answering as answering,
    names_of as names_of,
    statements_of as statements_of,
)
