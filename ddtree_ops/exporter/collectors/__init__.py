"""Collectors: one file for each subject, each read on its own period and with its own success and duration."""
