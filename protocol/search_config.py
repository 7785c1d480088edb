"""The signed numbers of a search, for self-play and for gating.

Spec: `docs/spec/manifest.md`, meaning of each number: `docs/spec/search.md`. A search is a pure function of (network
bytes, config, position history, game seed, ply); a config's digest is part of every seed.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import Choice, Ppm, Range, Semantics

SEMANTICS = "gonode/search/1"
"""The exact search that this version of the program plays and replays."""

Micro = Annotated[int, Range(0, 2**31 - 1)]
Visits = Annotated[int, Range(2, 60000)]


@dataclass(frozen=True, slots=True)
class SearchConfig(Record):
    """Field names and units as in the engine's `go_search_config`; micro: millionths."""

    NAME = "search-config"

    semantics: Semantics
    root: Annotated[str, Choice(("puct", "gumbel"))]
    visits_full: Visits
    visits_fast: Visits
    full_share_ppm: Ppm
    cpuct_micro: Micro
    fpu_reduction_micro: Micro
    root_fpu_reduction_micro: Micro
    noise_weight_ppm: Ppm
    noise_alpha_micro: Micro
    root_temperature_micro: Micro
    forced_playouts_micro: Micro
    score_utility_micro: Micro
    temperature_start_micro: Micro
    temperature_end_micro: Micro
    temperature_halflife: Annotated[int, Range(1, 1000)]
    gumbel_considered: Annotated[int, Range(1, 362)]
    gumbel_noise_micro: Micro
    gumbel_c_visit_micro: Micro
    gumbel_c_scale_micro: Micro
    symmetry: bool
