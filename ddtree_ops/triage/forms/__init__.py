"""The forms that a log comes in: bytes to `JournalEntry`, one file each."""
