r"""How symbols are written inside patterns and formulas.

A symbol of one character is written as itself, or after a backslash when the character has a meaning of
its own (`\*`); a symbol of several characters is written in angle brackets (`<close>`), where a backslash
keeps `\`, `<` and `>` (`<-\>>` is the symbol `->`).
"""

from __future__ import annotations

from collections.abc import Container

from nerode.core import PatternError
from nerode.languages.alphabet import END


def read_escape(text: str, start: int) -> tuple[str, int]:
    """Returns the symbol that the backslash at `start` introduces and where the text goes on."""
    if start + 1 == len(text):
        raise PatternError(
            "nothing after the backslash", text=text, column=start + 1, hint="write \\\\ for one"
        )
    symbol = text[start + 1]
    if symbol.isalnum() and symbol not in "ε∅":
        raise PatternError(
            f"unknown escape \\{symbol}",
            text=text,
            column=start + 1,
            hint=f"a backslash goes before a punctuation mark; the letter is written {symbol} or <{symbol}>",
        )
    check_symbol(symbol, text, start + 1)
    return symbol, start + 2


def read_bracketed(text: str, start: int) -> tuple[str, int]:
    """Returns the symbol inside the angle brackets that open at `start` and where the text goes on."""
    characters: list[str] = []
    i = start + 1
    while i < len(text) and text[i] != ">":
        if text[i] == "\\":
            i += 1
            if text[i : i + 1] not in ("\\", "<", ">"):
                raise PatternError(
                    "unknown escape inside < >",
                    text=text,
                    column=i,
                    hint="inside < > a backslash goes before \\, < or >",
                )
        characters.append(text[i])
        i += 1
    if i >= len(text):
        raise PatternError("unclosed <", text=text, column=start + 1, hint="close it with >, or write \\<")
    symbol = "".join(characters)
    if not symbol:
        raise PatternError("a symbol without a name", text=text, column=start + 1, hint="write <name>")
    check_symbol(symbol, text, start + 1)
    return symbol, i + 1


def check_symbol(symbol: str, text: str, column: int) -> None:
    """Raises PatternError if no alphabet can have this symbol."""
    if any(map(str.isspace, symbol)):
        raise PatternError("white space in a symbol", text=text, column=column, hint="rename the symbol")
    if symbol == END:
        raise PatternError(
            f"the symbol {END}",
            text=text,
            column=column,
            hint=f"{END} stands for the end of a word and patterns always match whole words; leave it out",
        )


def write_symbol(symbol: str, reserved: Container[str]) -> str:
    """Returns the symbol as text; `reserved` characters are protected."""
    if len(symbol) > 1:
        escaped = symbol.replace("\\", "\\\\").replace("<", "\\<").replace(">", "\\>")
        return f"<{escaped}>"
    if symbol not in reserved:
        return symbol
    return f"<{symbol}>" if symbol.isalnum() and symbol not in "ε∅" else f"\\{symbol}"
