from .boards import (
    Board as Board,
    BoardNote as BoardNote,
    Promotion as Promotion,
    Standing as Standing,
    board_notes as board_notes,
    headlines as headlines,
    is_short as is_short,
    items_by_model as items_by_model,
    leaderboard as leaderboard,
    leaderboard_of as leaderboard_of,
    mean_win_rates as mean_win_rates,
    named_board as named_board,
    promote as promote,
    promotions as promotions,
)
from .compared_rows import (
    Equivalence as Equivalence,
    Margins as Margins,
    Section as Section,
)
from .comparison import (
    Comparison as Comparison,
    Side as Side,
    compare as compare,
)
from .comparison_text import (
    ChangeLine as ChangeLine,
    changes_between as changes_between,
    notes_of as notes_of,
    render_comparison as render_comparison,
    spec_changes as spec_changes,
    verdicts as verdicts,
)
from .headline_text import (
    render_headline as render_headline,
)
from .history import (
    BREAKS as BREAKS,
    CONTINUES as CONTINUES,
    OTHER_ROWS as OTHER_ROWS,
    FigurePair as FigurePair,
    HistoryLine as HistoryLine,
    HistoryPoint as HistoryPoint,
    MeasureEffect as MeasureEffect,
    MeasureHistory as MeasureHistory,
    effects_between as effects_between,
    figures_between as figures_between,
    histories_of as histories_of,
    history_of as history_of,
    render_history as render_history,
)
from .junit_xml import (
    comparison_junit as comparison_junit,
    junit as junit,
)
from .paper_tables import (
    BestValue as BestValue,
    best_values as best_values,
    board_of_people as board_of_people,
    board_table as board_table,
    comparison_tables as comparison_tables,
    counts_of as counts_of,
    estimate as estimate,
    report_tables as report_tables,
)
from .remarks import (
    CAUTION as CAUTION,
    own_figure_text as own_figure_text,
)
from .report_text import (
    further_query as further_query,
    render_report as render_report,
)
from .run_report import (
    PROVING as PROVING,
    Report as Report,
    report as report,
)
