"""Cuts a stream into lines, in a time that grows with its length only. Pure."""


class Cutter:
    """The lines of a stream that is handed over piece by piece, wherever it is cut."""

    def __init__(self) -> None:
        self.rest = bytearray()
        """What came of a line whose end did not come yet; may be taken out."""

    def cut(self, piece: bytes) -> list[bytes]:
        """The lines that end in ``piece``, without their ends."""
        if b"\n" not in piece:
            self.rest += piece  # in place: joined anew each time, a long line would take for ever
            return []
        first, *whole, rest = piece.split(b"\n")
        lines = [bytes(self.rest) + first, *whole]
        self.rest = bytearray(rest)
        return lines
