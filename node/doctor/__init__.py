"""What `gonode doctor` looks at: a machine, a node's directory, its ports, and the node that runs there.

Spec: `docs/commands.md` ("gonode doctor"). Each check is a function that returns findings and raises nothing of the world's;
none changes anything, but for a file in the directory that is made and gone again.
"""
