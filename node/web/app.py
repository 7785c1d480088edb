"""The pages of a run as a web application: which path is which page. `make_app`.

Page: docs/pages.md. Permanent names are whole digests; the first digits of one, 8 or more, lead to it.
"""

import importlib.metadata
from collections.abc import Callable, Collection, Mapping
from sqlite3 import Connection
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from node.disk.home import Home
from node.disk.keyring import KeyringError, load_public
from node.web.answering import API, UNREADABLE, Ask, Desk, Moved
from node.web.audit_page import audit_routes
from node.web.downloads import DAY_TYPE, day_file, proof_file, release_files, sgf_file
from node.web.elo_graph import axis_of, elo_graph, elo_view, shown_points
from node.web.faults import Faults
from node.web.games.days import DayFiles
from node.web.guard import Guard
from node.web.model.schema import NAME
from node.web.network_map import network_map
from node.web.own_node import OwnNode
from node.web.play import Play
from node.web.queries.bans import bans, proof
from node.web.queries.contributors import contributor, contributors
from node.web.queries.dumps import dumps
from node.web.queries.game import game
from node.web.queries.games import games
from node.web.queries.network import NetworkAnswer, network
from node.web.queries.overview import Overview, overview
from node.web.queries.records import whole_name
from node.web.queries.releases import release, releases
from node.web.queries.verification import verification
from node.web.recomputed import Recomputer
from node.web.static_files import Static

ZIPPED_BY: Final = 4
"""How hard answers are compressed; more takes longer than it saves."""


def make_app(home: Home, faults: Faults, *, proxies: Collection[str] = (), hosts: Collection[str] = ()) -> Guard:
    """The application for the node's directory, whose `pages.db` is there (`node.web.model`); the rest is `Guard`'s.

    With whom this node is linked is told where `hosts` says that this machine alone asks.
    """
    version = importlib.metadata.version("gonode")
    path, node = home.directory / NAME, _node_key(home)
    static = Static()
    desk = Desk(path, node, version, static.base, faults)
    play = Play(home, path, node)
    days = DayFiles(home.directory)
    recomputer = Recomputer(home.public, home.load_ticket().run)
    live = desk.live_page(
        "network.html", lambda db, request: network(db, request.state.own_node, has_names=bool(hosts)), _map
    )
    routes = [
        *_both("/", desk.page("overview.html", lambda db, request: overview(db), _graph)),
        *_both("/releases", desk.page("releases.html", lambda db, request: releases(db, _before(request)))),
        *_both(
            "/releases/{name}",
            desk.live_page(
                "release.html", _named("releases", "id", lambda db, name, _: release(db, name)), release_files(home)
            ),
        ),
        *_both("/contributors", desk.page("contributors.html", _contributors)),
        *_both(
            "/contributors/{name}",
            desk.page(
                "contributor.html",
                _named("contributors", "key", lambda db, name, request: contributor(db, name, _before(request))),
            ),
        ),
        *_both("/verification", desk.page("verification.html", lambda db, request: verification(db, _before(request)))),
        *_both("/bans", desk.page("bans.html", lambda db, request: bans(db, _before(request)))),
        Route("/proofs/{name}/file", desk.file(_named("convictions", "id", proof_file, "/file"))),
        *_both(
            "/proofs/{name}",
            desk.live_page(
                "proof.html", _named("convictions", "id", lambda db, name, _: proof(db, name, recomputer.get)), _address
            ),
        ),
        *_both("/network", _network(OwnNode(home, node, version), live)),
        *_both("/play/{name}", desk.live_page("play.html", play.page)),
        Route(f"{API}/play/{{name}}", play.answer, methods=["POST"]),
        *_both("/games", desk.page("games.html", lambda db, request: games(db, request.query_params))),
        Route("/games/{name}.sgf", desk.file(_named("here.games", "hash", sgf_file(home.public), ".sgf"))),
        *_both(
            "/games/{name}",
            desk.page("game.html", _named("here.games", "hash", lambda db, name, _: game(db, home.public, name))),
        ),
        *_both("/dumps", desk.live_page("dumps.html", lambda db, request: dumps(db, days, _before(request)))),
        Route("/dumps/{name}", day_file(days)),
        Route("/static/{path:path}", static.answer),
        *audit_routes(home, static),
    ]
    handlers = dict.fromkeys((HTTPException, *UNREADABLE, 500), desk.refused)
    pages = Starlette(routes=routes, exception_handlers=handlers)
    whole = (*DEFAULT_EXCLUDED_CONTENT_TYPES, DAY_TYPE)
    app = GZipMiddleware(pages, compresslevel=ZIPPED_BY, exclude_content_types=whole)
    return Guard(app, proxies=proxies, hosts=hosts)


def _both(path: str, endpoint: Callable[[Request], Response]) -> list[Route]:
    return [Route(path, endpoint), Route(API + path.rstrip("/"), endpoint)]


def _before(request: Request) -> str | None:
    return request.query_params.get("before")


def _contributors(db: Connection, request: Request) -> Any:
    query = request.query_params
    return contributors(db, query.get("window", "all"), query.get("q", ""), _before(request))


def _named(table: str, column: str, find: Callable[[Connection, bytes, Request], Any], end: str = "") -> Ask:
    """What has a digest for a name, and then `end`; the first digits of one lead to the whole."""

    def asked(db: Connection, request: Request) -> Any:
        text = request.path_params["name"]
        name = whole_name(db, table, column, text)
        if text == name.hex():
            return find(db, name, request)
        place = request.url.path.removeprefix(API).removesuffix(end).rpartition("/")[0]
        return Moved(f"{place}/{name.hex()}{end}")

    return asked


def _graph(found: Overview, request: Request) -> Mapping[str, Any]:
    """The overview's picture: `?x=rows|time`, `&refused=no` without refused candidates, `&from=&to=` a part of it."""
    query = request.query_params
    axis = axis_of(found.points, query.get("x", "rows"))
    try:
        view = elo_view(found.points, axis, query.get("refused") != "no", query.get("from"), query.get("to"))
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    points = shown_points(found.points, view)
    return {"graph": elo_graph(points, view) if len(found.points) > 1 else "", "view": view, "points": points}


def _map(found: NetworkAnswer, request: Request) -> Mapping[str, Any]:
    """The picture of this node's links."""
    return {"map": network_map(found.node.links or (), found.node.known_nodes)}


def _network(own: OwnNode, page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """The page about this node, which is asked before the pages' file is opened."""

    def answer(request: Request) -> Response:
        request.state.own_node = own.get()
        return page(request)

    return answer


def _address(found: Any, request: Request) -> Mapping[str, Any]:
    """Where the visitor found this server."""
    return {"address": f"{request.url.scheme}://{request.url.netloc}"}


def _node_key(home: Home) -> bytes:
    """The public key of the node in this directory; empty where it has none."""
    try:
        return load_public(home.key("host"))
    except (KeyringError, OSError):
        return b""
