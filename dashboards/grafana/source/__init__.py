"""The dashboards as typed descriptions; see board.py first."""
