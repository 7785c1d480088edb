"""`python -m node` is the `gonode` command."""

from node.cli import main

main()
