from .declared_names import (
    resolve as resolve,
    scorer_name as scorer_name,
)
from .files import (
    check_released as check_released,
)
from .index import (
    Index as Index,
    Symbol as Symbol,
)
from .memory import (
    Kept as Kept,
    Memory as Memory,
    apart as apart,
    difference as difference,
)
from .program import (
    KINDS as KINDS,
    FormulaScorer as FormulaScorer,
    NamedColumn as NamedColumn,
    Program as Program,
    ReadText as ReadText,
    beside as beside,
    forget as forget,
    locale_in as locale_in,
    locale_of as locale_of,
    lost_part as lost_part,
    numbers_of as numbers_of,
)
from .scope import (
    Binding as Binding,
    Copy as Copy,
    Field as Field,
    KnownCopies as KnownCopies,
    LoadedDataset as LoadedDataset,
    LoadedRow as LoadedRow,
    May as May,
    Scope as Scope,
    Typed as Typed,
    lacking as lacking,
    record_fields as record_fields,
    row_binding as row_binding,
    row_fields as row_fields,
)
