from .adopting import (
    NOWHERE as NOWHERE,
    Adoptable as Adoptable,
    Adoption as Adoption,
    Here as Here,
    Namesakes as Namesakes,
    Own as Own,
    PackedNames as PackedNames,
    Wanted as Wanted,
    about as about,
)
from .calls import (
    Conversation as Conversation,
    StepCall as StepCall,
    calls_of as calls_of,
    element_name as element_name,
    most_turns as most_turns,
    speaker_of as speaker_of,
)
from .case_cache import (
    Shared as Shared,
    at_once as at_once,
    together as together,
)
from .conversing import (
    TurnPrompt as TurnPrompt,
)
from .names import (
    Names as Names,
    is_told as is_told,
)
from .needs import (
    Compared as Compared,
    Got as Got,
    HeldConversation as HeldConversation,
    Nearness as Nearness,
    Need as Need,
    Program as Program,
    ProgramValue as ProgramValue,
    ReplyNeed as ReplyNeed,
    Result as Result,
    Scored as Scored,
    Talked as Talked,
    Unasked as Unasked,
    Unfound as Unfound,
    Unheld as Unheld,
    drive as drive,
    is_pending as is_pending,
    pending as pending,
)
from .pairs import (
    Pair as Pair,
    is_kept as is_kept,
    lasting as lasting,
    pairs_of as pairs_of,
    parts as parts,
    split as split,
)
from .prompts import (
    JudgePrompt as JudgePrompt,
    World as World,
)
from .steps import (
    Found as Found,
    UnitProgram as UnitProgram,
    pair_program as pair_program,
)
from .units import (
    BoundTreatment as BoundTreatment,
    Unit as Unit,
)
