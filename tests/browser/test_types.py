"""The page's own modules hold the types that their comments give, as TypeScript reads them, strictly."""

import subprocess

from tests.browser.programs import STATIC, install_tools

STRICT = (
    "--strict",
    "--noUncheckedIndexedAccess",
    "--noUnusedLocals",
    "--noUnusedParameters",
    "--exactOptionalPropertyTypes",
)


def test_types_hold() -> None:
    compiler = install_tools() / "typescript" / "bin" / "tsc"
    common = (
        "--noEmit",
        "--allowJs",
        "--checkJs",
        "--skipLibCheck",
        "--allowImportingTsExtensions",
        "--pretty",
        "false",
    )
    goal = (
        "--target",
        "esnext",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        "--lib",
        "esnext,dom,dom.iterable",
    )
    command = ["node", str(compiler), *common, *goal, *STRICT, *map(str, sorted(STATIC.glob("*.js")))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    faults = [line for line in done.stdout.splitlines() if "/vendor/" not in line.partition("(")[0]]
    assert [line for line in faults if not line.startswith(" ")] == []
