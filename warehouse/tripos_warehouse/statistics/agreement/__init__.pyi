from .concordance import (
    kendall_tau_b as kendall_tau_b,
    kendall_w as kendall_w,
    mid_ranks as mid_ranks,
    spearman_rho as spearman_rho,
    w_without as w_without,
)
from .gwet import (
    gwet_ac as gwet_ac,
)
from .icc import (
    intraclass as intraclass,
)
from .item_rankings import (
    tau_by_item as tau_by_item,
    tau_of_stacks as tau_of_stacks,
)
from .items import (
    over_items as over_items,
)
from .kappa import (
    Weights as Weights,
    cohen_kappa as cohen_kappa,
    percent_agreement as percent_agreement,
)
from .krippendorff import (
    Level as Level,
    krippendorff_alpha as krippendorff_alpha,
)
from .rater_pairs import (
    Pairwise as Pairwise,
    pairwise as pairwise,
)
