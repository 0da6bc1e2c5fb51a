"""Dashboards as pictures: the data of every panel, drawn in the dashboard's grid about as Grafana does."""
