"""The systems of the two NTCIR campaigns, rebuilt: recipes, and the blocks they are made of.

`recipes.py` says what each run was; `system.py` makes a predictor of a recipe.
"""
