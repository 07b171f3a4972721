from .human import (
    Human as Human,
)
from .person import (
    HumanModel as HumanModel,
)
