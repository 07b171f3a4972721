from .design import (
    DesignPlan as DesignPlan,
    DesignQuestion as DesignQuestion,
    Learned as Learned,
    design_run as design_run,
    expected_labels as expected_labels,
    learned_components as learned_components,
)
from .detection import (
    Detection as Detection,
    FigureDesign as FigureDesign,
    headline_detection as headline_detection,
)
from .run_plan import (
    RunPlan as RunPlan,
    RunPreview as RunPreview,
    plan_run as plan_run,
    preview_run as preview_run,
)
from .settling import (
    SettlingForecast as SettlingForecast,
    foresee_settling as foresee_settling,
)
