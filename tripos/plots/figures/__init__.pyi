from .kinds import (
    KINDS as KINDS,
    PictureKind as PictureKind,
    make_picture as make_picture,
)
