"""Settings as KataGo's config files and its `-override-config` have them: `key = value`, in lines or with commas between."""

from pathlib import Path
from typing import Final

from node.analysis.settings import SettingError

MOST_BYTES: Final = 1 << 20


def load_config(path: Path) -> dict[str, str]:
    """The settings of a file; raises OSError, and SettingError for one that is no such file."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise SettingError(f"{path} is no config file: it has more than {MOST_BYTES} bytes.")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SettingError(f"{path} is no config file: it is not text.") from None
    return _parse(text.splitlines(), str(path))


def parse_overrides(text: str) -> dict[str, str]:
    """`KEY=VALUE,KEY=VALUE`; raises SettingError."""
    return _parse(text.split(","), "the overrides")


def _parse(lines: list[str], where: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].strip()
        if not words or words.startswith("@"):
            continue
        key, equals, value = (part.strip() for part in words.partition("="))
        if not key or not equals:
            raise SettingError(f"Part {number} of {where} is not of the form KEY=VALUE.")
        found[key] = value.strip('"')
    return found
