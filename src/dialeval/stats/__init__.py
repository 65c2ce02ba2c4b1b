"""Statistics of comparing runs: significance tests, effect sizes, correlation, sample size.

Everything takes a table of scores: dialogues by runs. Lower scores are better throughout.
"""
