from .facts import (
    headlines as headlines,
    items_by_model as items_by_model,
)
from .kept_boards import (
    leaderboard_of as leaderboard_of,
)
from .named_boards import (
    Promotion as Promotion,
    named_board as named_board,
    promote as promote,
    promotions as promotions,
)
from .ranking import (
    LEAST_ITEMS as LEAST_ITEMS,
    LEVEL as LEVEL,
    Board as Board,
    Standing as Standing,
    leaderboard as leaderboard,
    mean_win_rates as mean_win_rates,
)
from .remarks import (
    BoardNote as BoardNote,
    board_notes as board_notes,
    is_short as is_short,
)
