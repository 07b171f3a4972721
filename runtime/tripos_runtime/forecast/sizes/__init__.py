"""Sizes of prompts that are not whole yet."""
