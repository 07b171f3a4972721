from .seen_requests import (
    Sent as Sent,
)
from .trial import (
    SecretLeak as SecretLeak,
    WorldTrial as WorldTrial,
    try_worlds as try_worlds,
)
