from .compilation import (
    CompiledSpec as CompiledSpec,
    SpecSource as SpecSource,
    earlier_plan as earlier_plan,
    earlier_spec as earlier_spec,
    find_spec as find_spec,
    holds_benchmark as holds_benchmark,
    holds_parts as holds_parts,
    is_shipped as is_shipped,
    shipped_spec as shipped_spec,
)
from .errors import (
    ReleaseError as ReleaseError,
    RunError as RunError,
    SpecError as SpecError,
    TriposError as TriposError,
)
from .forecast import (
    budget_rows as budget_rows,
    check_model_names as check_model_names,
    forecast_json as forecast_json,
    foresee_batches as foresee_batches,
    foresee_run as foresee_run,
)
from .job import (
    Job as Job,
    RunEnding as RunEnding,
)
from .next_run import (
    NextRun as NextRun,
    foresee_next as foresee_next,
)
from .planning import (
    DesignPlan as DesignPlan,
    DesignQuestion as DesignQuestion,
    Detection as Detection,
    FigureDesign as FigureDesign,
    Learned as Learned,
    RunPlan as RunPlan,
    RunPreview as RunPreview,
    SettlingForecast as SettlingForecast,
    design_run as design_run,
    expected_labels as expected_labels,
    headline_detection as headline_detection,
    learned_components as learned_components,
    plan_run as plan_run,
    preview_run as preview_run,
)
from .preparation import (
    RunWarning as RunWarning,
    check_denied as check_denied,
    damage_warning as damage_warning,
    family_warning as family_warning,
    lock_now as lock_now,
    prepare as prepare,
    settings_warning as settings_warning,
    sight_warning as sight_warning,
)
from .releases import (
    Released as Released,
    check_release as check_release,
    freeze_benchmark as freeze_benchmark,
    release as release,
    verify as verify,
    write_copies as write_copies,
)
from .results import (
    Results as Results,
    open as open,
)
from .run import (
    Progress as Progress,
    Run as Run,
    open_run as open_run,
    store_failure as store_failure,
)
from .selection import (
    choices_of as choices_of,
    chosen_binding as chosen_binding,
    chosen_cases as chosen_cases,
    chosen_only as chosen_only,
    chosen_scenarios as chosen_scenarios,
    chosen_subset as chosen_subset,
    has_models as has_models,
    selected_values as selected_values,
)
from .spec import (
    Spec as Spec,
    compile as compile,
)
from .workers import (
    worker_pool as worker_pool,
)
