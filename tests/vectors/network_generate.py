"""Writes `tests/vectors/network/first.json` anew: `python -m tests.vectors.network_generate`.

Files and outputs come from the spec in plain Python (`tests/native/network_reference.py`), never from the engine that they
test. The inputs are those in the file.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from native.netfile import Architecture
from tests.native.network_reference import evaluate, first_network

PATH = Path(__file__).parent / "network" / "first.json"


def main() -> None:
    """Recomputes every first network and its output."""
    vectors = json.loads(PATH.read_text())
    for case in vectors["first_networks"]:
        network = first_network(bytes.fromhex(case["manifest_digest"]), Architecture.parse(case["network"]))
        case["file_sha256"] = hashlib.sha256(network.encode()).hexdigest()
        output = evaluate(network, case["rows"], case["cols"], bytes.fromhex(case["planes"]))
        case["output"] = asdict(output)
    PATH.write_text(json.dumps(vectors, indent=1) + "\n")


if __name__ == "__main__":
    main()
