"""What is known of providers and models: addresses, prices, and what their errors mean."""
