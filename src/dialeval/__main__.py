"""`python -m dialeval`."""

from dialeval.cli import main

main()
