"""Manifests of simulated runs: 7x7, searches of a few visits, releases after some hundred plies."""

from dataclasses import replace
from typing import Any

from protocol.manifest import Manifest
from tests.verification.manifests import small_manifest


def sim_manifest(win_rate_ppm: int = 0, **admission: Any) -> Manifest:
    """The world's small manifest with short epochs and time for everything that a kill delays.

    Candidates pass from `win_rate_ppm` on; `admission` replaces fields of that policy.
    """
    manifest = small_manifest()
    policy = {"epoch_entries": 60, "final_entries": 400, "timeout_entries": 60, "tick_s": 10, **admission}
    return replace(
        manifest,
        admission=replace(manifest.admission, **policy),
        gate=replace(manifest.gate, win_rate_ppm=win_rate_ppm, pairs_per_assignment=1),
    )
