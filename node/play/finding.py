"""A partner by what a person calls it: a release of the run in a node's directory, or a network's file."""

from pathlib import Path

from node.matches.opponent import Gallery, load_network_file
from node.play.partner import Partner


def find_partner(gallery: Gallery, name: str) -> Partner:
    """The network in the file `name`, by the run's newest rules, or else the release that is called so.

    See `Gallery.network` for names. Raises OpponentError.
    """
    path = Path(name)
    if path.is_file():
        network = load_network_file(path)
        manifest = gallery.manifest
        return Partner(path.name, network.digest, network, manifest.rules, manifest.gate_search)
    known, found = gallery.network(name)
    release = next(each for each in gallery.state.releases.all if each.name == known)
    manifest = gallery.state.release_manifest(release)
    return Partner(known, release.id, found, manifest.rules, manifest.gate_search)
