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
    LoweredCache as LoweredCache,
    Memory as Memory,
    fork_program as fork_program,
    program_additions as program_additions,
)
from .products import (
    product_of as product_of,
)
from .program import (
    KINDS as KINDS,
    FormulaScorer as FormulaScorer,
    NamedColumn as NamedColumn,
    Program as Program,
    ReadText as ReadText,
    forget_diagnostics as forget_diagnostics,
    has_lost_part as has_lost_part,
    has_lost_values as has_lost_values,
    locale_in as locale_in,
    locale_of as locale_of,
    numbers_of as numbers_of,
    path_beside as path_beside,
)
from .scope import (
    Binding as Binding,
    Contents as Contents,
    CopiedField as CopiedField,
    Copy as Copy,
    Field as Field,
    KnownCopies as KnownCopies,
    LoadedDataset as LoadedDataset,
    LoadedRow as LoadedRow,
    PossibleLack as PossibleLack,
    Scope as Scope,
    Typed as Typed,
    joint_lacks as joint_lacks,
    record_fields as record_fields,
    row_binding as row_binding,
    row_fields as row_fields,
)
