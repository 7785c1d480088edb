"""Training: admitted batches in, a float network and its exact integer form out.

Spec: docs/spec/train-state.md, docs/spec/network.md, docs/spec/pipe.md. The only package that imports torch. It meets the
node through files and two processes: `python -m trainer cycle JOB.json` trains, `python -m trainer.serving.serve` evaluates
the leaves of an engine's games. It neither schedules nor gates.
"""
