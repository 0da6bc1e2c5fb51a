"""Whether servers and exporters have the metrics that our dashboards and rules need (`doctor --metrics`)."""
