from .contexts import (
    Only as Only,
    broken_guard as broken_guard,
    cells as cells,
    count_cells as count_cells,
    guards_of as guards_of,
    left_out_of as left_out_of,
    scenario_under as scenario_under,
    sharing as sharing,
    under as under,
)
from .conversations import (
    OPENINGS as OPENINGS,
    leave_out as leave_out,
    opening as opening,
    says as says,
    seen_by as seen_by,
)
from .evaluation import (
    DATA as DATA,
    LAZY as LAZY,
    NOT_APPLICABLE as NOT_APPLICABLE,
    REPLIES as REPLIES,
    TREES as TREES,
    UNDEFINED as UNDEFINED,
    Fault as Fault,
    Missing as Missing,
    NoValue as NoValue,
    Unavailable as Unavailable,
    calling as calling,
    equal as equal,
    evaluate as evaluate,
    showing as showing,
)
from .model_families import (
    families as families,
    is_kin as is_kin,
)
from .references import (
    Look as Look,
    exprs_of as exprs_of,
    is_only_looked_at as is_only_looked_at,
    looks_of as looks_of,
    names_in as names_in,
    parts_of as parts_of,
    paths_in as paths_in,
    printed_axes as printed_axes,
    rows_of as rows_of,
    unveiled as unveiled,
)
from .rendering import (
    render as render,
    rubric as rubric,
    show as show,
)
from .rows import (
    ABSENT as ABSENT,
    EMPTY_CELL as EMPTY_CELL,
    DoesNotFit as DoesNotFit,
    Misfit as Misfit,
    find_value as find_value,
    in_parts as in_parts,
    item_id as item_id,
    read_row as read_row,
    read_value as read_value,
)
from .subsets import (
    Drawn as Drawn,
    Placed as Placed,
    draw_all as draw_all,
    placed as placed,
)
from .totality import (
    Lack as Lack,
    arguments_of as arguments_of,
    lack_of as lack_of,
    lacks as lacks,
    unguarded as unguarded,
)
from .trees import (
    DEEPEST as DEEPEST,
    Tree as Tree,
    TreeFault as TreeFault,
    TreeRead as TreeRead,
    joined_trees as joined_trees,
    read_tree as read_tree,
)
