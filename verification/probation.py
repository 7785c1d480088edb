"""How much of a batch is replayed: everything on probation, then a share that falls with good history.

Spec: `docs/spec/admission.md` ("Share of replay"). Pure.
"""

from protocol.manifest import AdmissionPolicy
from protocol.seeds import PPM


def q_ppm(accepted: int, first_passed: bool, policy: AdmissionPolicy) -> int:
    """The share of games to replay, in parts per million, rounded up.

    `accepted`: the identity's accepted batches at the header's index. `first_passed`: its first K batches are accepted.
    """
    k = policy.probation_batches
    if accepted < k or not first_passed:
        return PPM
    return min(PPM, max(policy.q_min_ppm, -(-PPM * k // accepted)))
