"""How counts are said in sentences for people."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 game`, `2 games`; of an irregular noun the plural too: `2 entries`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
