"""`gonode export weights`: a network's float weights as arrays for numpy."""

import json
from pathlib import Path

import click

from node.cli.directory import of_run


@click.command()
@click.argument("network", metavar="[RELEASE|FILE]", default="latest")
@of_run
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The file to write, as net.npz."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def weights(network: str, directory: Path, out: Path, as_json: bool) -> int:
    """Write the float weights of a release, or of a training's weights.bin, as arrays for numpy.

    Leela Zero's weights files cannot hold such a network; `gonode train --from-leela-zero` makes one that they can.
    """
    from node.disk.files import write_output
    from node.exchange.errors import WeightsError
    from node.exchange.float_weights import FloatWeights
    from protocol.words import counted

    path = Path(network)
    name, data = (network, _read(path)) if path.is_file() else _of_release(network, directory)
    try:
        found = FloatWeights.parse(data)
    except WeightsError as error:
        raise WeightsError(f"{name}: {error}") from None
    write_output(out, found.npz())
    if as_json:
        answer = {"name": name, "network": found.network, "step": found.step, "arrays": len(found.tensors)}
        click.echo(json.dumps(answer | {"file": str(out)}))
    else:
        click.echo(f"{out}: {counted(len(found.tensors), 'array')}, the float weights of {name} ({found.network}).")
    return 0


def _read(path: Path) -> bytes:
    from node.exchange.errors import WeightsError
    from node.matches.opponent import MOST_BYTES

    with path.open("rb") as file:
        data = file.read(8 * MOST_BYTES + 1)
    if len(data) > 8 * MOST_BYTES:
        raise WeightsError(f"{path}: The file is longer than any network's weights.")
    return data


def _of_release(name: str, directory: Path) -> tuple[str, bytes]:
    from node.disk.home import Home
    from node.matches.opponent import Gallery

    return Gallery(Home(directory)).weights(name)
