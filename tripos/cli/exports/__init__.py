"""`tripos export` and `tripos emit`: results and specs in the formats of other tools."""
