"""The model of texts: formats/archive_operations.md, section 4."""
from bits import refuse_if

U32 = 0xFFFFFFFF


class Squash:
    """squash and stretch as tables."""

    def __init__(self):
        positive, power = [], 2**62
        for _ in range(2048):
            positive.append(min((4096 << 62) // (2**62 + power), 4095))
            power = power * 4593706758521714574 >> 62
        self.squash = {x: positive[x] for x in range(2048)}
        self.squash.update({-x: max(4096 - positive[x], 1) for x in range(1, 2048)})
        self.stretch, x = [], -2047
        for p in range(4096):
            while x < 2047 and self.squash[x] < p:
                x += 1
            self.stretch.append(x)


TABLES = Squash()


class TextModel:
    words = None

    def __init__(self):
        self.bins = [0x8000] * (7 * 65536)
        self.weights = [[26214] * 7 for _ in range(256)]

    @classmethod
    def trained(cls, words):
        """The model in the state after the lines of words.txt and an empty text."""
        if cls.words is None:
            cls.words = cls()
            for line in words.split(b"\n"):
                cls.words.train(line)
        copy = cls.__new__(cls)
        copy.bins, copy.weights = list(cls.words.bins), [list(row) for row in cls.words.weights]
        return copy

    def train(self, text):
        given = iter(bit for byte in text + b"\0" for bit in f"{byte:08b}")
        self._text(lambda p: int(next(given)), 0, b"", None)

    def read(self, a, number, previous, block):
        return self._text(a.bit, number, previous, block)

    def _text(self, bit, number, previous, block):
        text, word = bytearray(), 0
        while True:
            byte = self.byte(bit, self.contexts(number, text, word, previous))
            if byte == 0:
                return bytes(text)
            text.append(byte)
            if block:
                refuse_if(len(text) > block.most, "operations that cost too much")
            is_letter = 65 <= byte <= 90 or 97 <= byte <= 122
            word = (word + byte) * 0x2C1B3C6D & U32 if is_letter else 0

    def contexts(self, number, text, word, previous):
        last = [int.from_bytes(text[-n:][::-1], "little") for n in (1, 2, 3, 4)]
        i = len(text)
        at = lambda place: previous[place] if place < len(previous) else 0
        return [number, *last, word, (at(i) * 65536 + at(i + 1) * 256 + (text[-1] if text else 0)) & U32]

    def byte(self, bit, contexts):
        q, bins, stretch = 1, self.bins, TABLES.stretch
        hashes = [(context + n * 0x9E3779B1) * 0x85EBCA6B & U32 for n, context in enumerate(contexts, 1)]
        for _ in range(8):
            turn = q * 0x9E3779B1
            at = [(nth << 16) + ((((h ^ turn) & U32) * 0xC2B2AE35 & U32) >> 16) for nth, h in enumerate(hashes)]
            x = [stretch[bins[s] >> 4] for s in at]
            weights = self.weights[q]
            p = TABLES.squash[min(max(sum(w * v for w, v in zip(weights, x)) >> 16, -2047), 2047)]
            one = bit(16 * p)
            e = 4096 * one - p
            for n in range(7):
                weights[n] += (x[n] * e * 10 + 8192) >> 14
            for s in at:
                c, h = bins[s] & 15, bins[s] & 0xFFF0
                if one:
                    h += 2 * (65535 - h) // (2 * c + 3)
                else:
                    h -= 2 * h // (2 * c + 3)
                bins[s] = h & 0xFFF0 | min(c + 1, 14)
            q = q << 1 | one
        return q - 256
