"""The server's journal, triaged by short-lived passes that remember where they were: each failure is counted once."""
