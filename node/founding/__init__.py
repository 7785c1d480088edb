"""Making a run: its file, keys, manifest, ticket, invites and root versions."""
