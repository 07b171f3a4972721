from .drawing import (
    Drawing as Drawing,
    draw as draw,
)
from .kinds import (
    KINDS as KINDS,
    make_picture as make_picture,
)
from .output import (
    FORMATS as FORMATS,
    warn_of_fonts as warn_of_fonts,
    write_drawing as write_drawing,
)
from .picture import (
    Picture as Picture,
)
from .sources import (
    PlotOptions as PlotOptions,
)
from .theme import (
    SIZES as SIZES,
    Style as Style,
    length_pt as length_pt,
)
