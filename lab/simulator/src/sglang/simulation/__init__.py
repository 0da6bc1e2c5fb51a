"""What has no counterpart in SGLang: settings, faults, pacing, the invented language."""
