"""The score server: tasks with hidden votes, submissions, quotas, leaderboards, official results.

`api/` and `pages/` are two faces of the same `services/`. A handler loads what the request says,
`access.py` has decided by then whether it may, and one service function does the work in its own
transaction.
"""
