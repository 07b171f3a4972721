from .benchmark_views import (
    axis_columns as axis_columns,
    read_plan as read_plan,
)
from .clusters import (
    clusterings_of as clusterings_of,
    clusters_of as clusters_of,
    count_clusters as count_clusters,
    lacks_clusters as lacks_clusters,
)
from .dimensions import (
    LANGUAGE as LANGUAGE,
    arm_columns as arm_columns,
    dimension_heading as dimension_heading,
    dimension_label as dimension_label,
    dimension_place as dimension_place,
    last_turns as last_turns,
    shows_several_times as shows_several_times,
)
from .expected_scores import (
    NOT_GIVEN as NOT_GIVEN,
)
from .people import (
    Graders as Graders,
    apart_scorers as apart_scorers,
    are_apart as are_apart,
    are_counted as are_counted,
    people_apart as people_apart,
)
from .prepared import (
    analysis_of as analysis_of,
    copied_scores as copied_scores,
    stale_files as stale_files,
    sums_of as sums_of,
    sums_with as sums_with,
)
from .run_rows import (
    element_rows as element_rows,
    step_counts as step_counts,
)
from .runs import (
    ListedRun as ListedRun,
    RunRecord as RunRecord,
    all_runs as all_runs,
    find_previous as find_previous,
    find_run as find_run,
    get_plan as get_plan,
    get_selected as get_selected,
    list_runs as list_runs,
)
from .subset_items import (
    SubsetCount as SubsetCount,
    known_in_run as known_in_run,
    known_in_store as known_in_store,
    marked_items as marked_items,
)
from .view_cache import (
    CACHE as CACHE,
    connect_kept as connect_kept,
    state_of as state_of,
)
from .views import (
    MANY_BYTES as MANY_BYTES,
    connect as connect,
    connect_run as connect_run,
    snippet as snippet,
)
