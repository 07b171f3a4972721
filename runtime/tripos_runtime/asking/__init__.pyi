from .counters import (
    CallCounters as CallCounters,
)
from .grading import (
    VERDICT as VERDICT,
    Said as Said,
    compared_worth as compared_worth,
    confidence as confidence,
    number_and_name as number_and_name,
    repeated as repeated,
    score_rows as score_rows,
    worth_of as worth_of,
)
from .ledger import (
    EmptyLedger as EmptyLedger,
    Keeper as Keeper,
    Ledger as Ledger,
    Listing as Listing,
    Row as Row,
    Work as Work,
    comparison_id as comparison_id,
    condition_id as condition_id,
    conversation_id as conversation_id,
    judgement_id as judgement_id,
    sample_id as sample_id,
    score_id as score_id,
    turn_id as turn_id,
)
from .other_replies import (
    NO_OTHERS as NO_OTHERS,
    OtherReplies as OtherReplies,
    OtherStore as OtherStore,
    TakenCounts as TakenCounts,
)
from .plan_questions import (
    Questions as Questions,
    settings_sent as settings_sent,
)
from .prompting import (
    PromptPlaceholders as PromptPlaceholders,
    ask_messages as ask_messages,
    grade_messages as grade_messages,
    messages as messages,
    shorter as shorter,
)
from .question import (
    NO_REPLY as NO_REPLY,
    SENT_ANEW as SENT_ANEW,
    UNUSED as UNUSED,
    Adopted as Adopted,
    Answer as Answer,
    Draft as Draft,
    Lane as Lane,
    PreparedQuestion as PreparedQuestion,
    ReadOutcome as ReadOutcome,
    answer_given as answer_given,
    as_one_text as as_one_text,
    dumps as dumps,
    recorded_answer as recorded_answer,
    reread as reread,
)
from .reply import (
    CONTEXT_EXCEEDED as CONTEXT_EXCEEDED,
    First as First,
    SentRequest as SentRequest,
    adopted as adopted,
    first_replies as first_replies,
    run_reply as run_reply,
    settled as settled,
    shown_again as shown_again,
)
from .shots import (
    chosen_rows as chosen_rows,
)
from .statuses import (
    AGAIN as AGAIN,
    FAILED as FAILED,
    NOT_APPLICABLE as NOT_APPLICABLE,
    NOT_ASKED as NOT_ASKED,
    OK as OK,
    PARSE_FAILURE as PARSE_FAILURE,
    PENDING as PENDING,
    REFUSED as REFUSED,
    SCORED as SCORED,
    TRUNCATED as TRUNCATED,
    UNDEFINED as UNDEFINED,
)
from .stored_rows import (
    answer_of as answer_of,
    draft_of as draft_of,
    talk_of as talk_of,
    turn_of as turn_of,
)
