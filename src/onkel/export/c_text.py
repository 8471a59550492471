"""Text in C: labels and names, whatever they hold."""


def literal(text: str) -> str:
    r"""Return a text, in UTF-8, for a string or a comment of C, which it cannot end.

    Examples
    --------
    >>> print(literal('naïve "*/'))
    na\303\257ve \042\052/
    """
    plain = [
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?*' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogateescape")
    ]
    return "".join(plain)
