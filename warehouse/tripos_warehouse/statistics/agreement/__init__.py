"""Agreement of raters: the public face of the modules on ranks, chance-corrected agreement and reliability."""

from tripos_warehouse.statistics.agreement.concordance import kendall_tau_b, kendall_w, spearman_rho
from tripos_warehouse.statistics.agreement.icc import intraclass
from tripos_warehouse.statistics.agreement.items import over_items
from tripos_warehouse.statistics.agreement.kappa import cohen_kappa, percent_agreement
from tripos_warehouse.statistics.agreement.krippendorff import krippendorff_alpha
from tripos_warehouse.statistics.agreement.pairwise import Pairwise, pairwise

__all__ = [
    "Pairwise",
    "cohen_kappa",
    "intraclass",
    "kendall_tau_b",
    "kendall_w",
    "krippendorff_alpha",
    "over_items",
    "pairwise",
    "percent_agreement",
    "spearman_rho",
]
