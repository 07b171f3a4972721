"""Reward models: trained here, of other folders, and served."""
