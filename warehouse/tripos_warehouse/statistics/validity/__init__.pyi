from .correction import (
    Corrected as Corrected,
    corrected_mean as corrected_mean,
)
