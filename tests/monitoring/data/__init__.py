"""Three hours of a small fleet, as Prometheus would have scraped them: written down once for dashboards, pages and rules."""
