"""Known facts about providers and models: addresses, prices, and what their errors mean."""
