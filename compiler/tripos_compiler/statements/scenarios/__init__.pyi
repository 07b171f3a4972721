from .scenarios import (
    lower_scenarios as lower_scenarios,
)
