"""Plug-ins: functions of the user's in Python, read from their source and never run here."""
