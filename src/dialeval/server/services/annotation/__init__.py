"""The annotation workbench: projects, who gets which dialogue, votes, and how it goes."""
