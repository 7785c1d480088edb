"""The audit page, and beside it the public folder that it checks, as routes: `audit_routes`.

Spec: `docs/spec/audit-page.md`.
"""

import errno

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from node.disk.home import Home
from node.web.site import Site
from node.web.static_files import Static
from protocol.layout import CHECKPOINT, PUBLIC


def audit_routes(home: Home, static: Static) -> list[BaseRoute]:
    """The audit page, and for it to check the directory's public folder, once it is there."""
    page = Site(f"/{PUBLIC}/", home.load_ticket().run).files()["index.html"]
    page = page.replace(b'"static/', f'"{static.base}/'.encode())
    folder = StaticFiles(directory=home.public, check_dir=False)

    def audit(request: Request) -> Response:
        if not (home.public / CHECKPOINT).is_file():
            raise HTTPException(404, "No published log is here to be checked; `gonode audit` follows the run itself.")
        return Response(page, 200, {"Cache-Control": "no-cache"}, "text/html; charset=utf-8")

    async def public(scope: Scope, receive: Receive, send: Send) -> None:
        if not home.public.is_dir():
            raise HTTPException(404)
        try:
            await folder(scope, receive, send)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise HTTPException(404) from error
            raise

    return [
        Route("/audit", audit),
        Route("/audit/", lambda request: RedirectResponse("/audit", 301)),
        Mount(f"/{PUBLIC}", public),
    ]
