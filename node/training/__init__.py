"""The trainer as a node has it: its process, jobs, events and results; and training outside of a run."""
