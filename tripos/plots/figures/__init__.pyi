from .kinds import (
    KINDS as KINDS,
    Kind as Kind,
    make_picture as make_picture,
)
