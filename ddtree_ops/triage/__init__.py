"""Triage: from journal entries to a diagnosis. Pure: it reads what it is given and touches nothing."""
