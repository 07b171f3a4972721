from .chats import (
    read_chats as read_chats,
)
from .common import (
    BESIDE as BESIDE,
    DATA as DATA,
    NAME as NAME,
    choose_device as choose_device,
    require_extra as require_extra,
    silence_libraries as silence_libraries,
)
from .examples import (
    find_examples as find_examples,
    write_examples as write_examples,
)
from .recipe import (
    RECIPES as RECIPES,
    Recipe as Recipe,
    settings_of as settings_of,
)
from .sft import (
    fine_tune as fine_tune,
)
