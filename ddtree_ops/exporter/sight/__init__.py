"""One host as a person wants to see it: plain, frozen data that page, JSON and terminal draw."""
