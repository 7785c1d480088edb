"""Training: admitted batches in, a float network and its exact integer form out.

Spec: docs/spec/train-state.md, docs/spec/network.md. The only package that imports torch. It meets the node through
files and a process, `python -m trainer cycle JOB.json`; it neither schedules nor gates.
"""
