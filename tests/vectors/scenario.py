"""What a vector file is made from: a scenario and the runner of its format."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from protocol.errors import ProtocolError

Json: TypeAlias = Any
Runner: TypeAlias = Callable[[Mapping[str, Json]], Json]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One vector: `expect` is the author's claim, which the generator and the tests hold the code to."""

    format: str
    name: str
    description: str
    expect: str
    input: Mapping[str, Json]

    def file(self, runner: Runner) -> str:
        """The vector's text; raises AssertionError if the outcome is not the one claimed."""
        outcome, output = run(runner, self.input)
        if outcome != self.expect:
            raise AssertionError(f"{self.format}/{self.name}: expected {self.expect}, got {outcome}")
        vector = {"description": self.description, "expect": self.expect, "input": self.input}
        if outcome == "ok":
            vector["output"] = output
        return json.dumps(vector, indent=2, ensure_ascii=False) + "\n"


def run(runner: Runner, input: Mapping[str, Json]) -> tuple[str, Json]:
    """The outcome's label and, when it is ok, the output."""
    try:
        return "ok", runner(input)
    except ProtocolError as error:
        return error.label, None


def unhex(value: Json) -> bytes:
    """The bytes that a vector writes as hex, or as a repeated piece."""
    if isinstance(value, str):
        return bytes.fromhex(value)
    return bytes.fromhex(value["repeat"]) * int(value["times"])
