"""Numbers of things in messages."""


def plural(number: int, noun: str) -> str:
    """Returns "1 state", "2 states", "1,200 states"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
