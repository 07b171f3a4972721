from .calls import (
    DEEPEST_FORMULA as DEEPEST_FORMULA,
    is_score as is_score,
    scorer_arguments as scorer_arguments,
    several_values as several_values,
)
from .checker import (
    Judge as Judge,
)
from .comprehensions import (
    CheckedLoop as CheckedLoop,
    ElementValues as ElementValues,
    LoopSyntax as LoopSyntax,
    check_loop as check_loop,
    element_values as element_values,
    free_names as free_names,
    scored_loop as scored_loop,
)
from .expressions import (
    Elaborator as Elaborator,
    rows_binding as rows_binding,
)
from .templates import (
    FilledHole as FilledHole,
    Localised as Localised,
    free_variables as free_variables,
    free_variables_of as free_variables_of,
    lower_texts as lower_texts,
)
from .texts import (
    holds_texts as holds_texts,
    joined as joined,
)
from .types import (
    axis_type as axis_type,
    field_type as field_type,
    is_secret as is_secret,
    named_choice as named_choice,
    read_type as read_type,
    record_type as record_type,
    type_parts as type_parts,
)
