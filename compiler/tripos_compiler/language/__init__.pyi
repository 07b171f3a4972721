from .clusters import (
    Clustering as Clustering,
    RowClusters as RowClusters,
)
from .contexts import (
    Only as Only,
    allowed_cells as allowed_cells,
    axes_in_guards as axes_in_guards,
    broken_guard as broken_guard,
    count_cells as count_cells,
    left_out_arm_values as left_out_arm_values,
    scenario_under as scenario_under,
    select_treatments as select_treatments,
    steps_sharing_replies as steps_sharing_replies,
)
from .evaluation import (
    DATA as DATA,
    DIVIDED as DIVIDED,
    LAZY as LAZY,
    PLACE as PLACE,
    REPLIES as REPLIES,
    TREES as TREES,
    Divided as Divided,
    EvaluationStopped as EvaluationStopped,
    Fault as Fault,
    LongEvaluations as LongEvaluations,
    Missing as Missing,
    NoValue as NoValue,
    Unavailable as Unavailable,
    element_value as element_value,
    elements as elements,
    evaluate as evaluate,
    votes_in as votes_in,
)
from .exact_values import (
    LONE as LONE,
    InexactJson as InexactJson,
    check_characters as check_characters,
    exact_number as exact_number,
    load_json as load_json,
)
from .model_families import (
    PEOPLE as PEOPLE,
    families_in_name as families_in_name,
    shares_family as shares_family,
)
from .references import (
    Look as Look,
    expressions_of as expressions_of,
    find_looks as find_looks,
    is_only_looked_at as is_only_looked_at,
    looped as looped,
    names_in as names_in,
    paths_in as paths_in,
    printed_axes as printed_axes,
    row_identity as row_identity,
    subexpressions as subexpressions,
    without_reveal as without_reveal,
)
from .rendering import (
    OPENINGS as OPENINGS,
    PLACEHOLDER as PLACEHOLDER,
    SILENT as SILENT,
    Placeholders as Placeholders,
    count_left_out as count_left_out,
    ends_conversation as ends_conversation,
    media_printed as media_printed,
    opening_text as opening_text,
    print_rubric as print_rubric,
    render as render,
    seen_by as seen_by,
)
from .rows import (
    ABSENT as ABSENT,
    DateCell as DateCell,
    DoesNotFit as DoesNotFit,
    Misfit as Misfit,
    find_value as find_value,
    is_structured as is_structured,
    item_id as item_id,
    read_row as read_row,
    read_turns as read_turns,
    read_value as read_value,
)
from .subsets import (
    Drawn as Drawn,
    PlacedItem as PlacedItem,
    draw_subsets as draw_subsets,
    place_item as place_item,
)
from .trees import (
    DEEPEST as DEEPEST,
    ParsedTree as ParsedTree,
    TreeFault as TreeFault,
    TreeRead as TreeRead,
    joined_trees as joined_trees,
    read_tree as read_tree,
)
