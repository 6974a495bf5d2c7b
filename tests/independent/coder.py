"""The coders of archives: formats/archive_model.md, section 1."""
from bits import refuse_if

M = 16384
RATES = [110, 75, 55, 44, 36, 30, 25, 21, 17, 14, 11, 9]


class Rans:
    """The coder of rows."""

    def __init__(self, data):
        refuse_if(len(data) < 4, "rows end early")
        begin = 4 + len(data) % 4
        refuse_if(begin > len(data), "rows end early")
        self.state = int.from_bytes(data[:begin], "little")
        self.words = [int.from_bytes(data[at:at + 4], "little") for at in range(begin, len(data), 4)][::-1]
        self.fill()

    def fill(self):
        if self.state < 2**31:
            refuse_if(not self.words, "rows end early")
            self.state = self.state << 32 | self.words.pop()

    def slot(self):
        return self.state % M

    def advance(self, start, freq):
        self.state = (self.state >> 14) * freq + self.state % M - start
        self.fill()

    def byte(self):
        byte = self.slot() >> 6
        self.advance(byte << 6, 64)
        return byte

    def among(self, intervals):
        """The symbol in whose interval (symbol, start, freq) the slot lies."""
        slot = self.slot()
        low, high = 0, len(intervals)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if intervals[middle][1] <= slot else (low, middle)
        symbol, start, freq = intervals[low]
        self.advance(start, freq)
        return symbol

    def finish(self, check):
        refuse_if(self.words or self.state != 2**31 + check % 2**31, "the check of the block does not match")


def scale(counts):
    counts = [max(count, 1) for count in counts]
    total = sum(counts)
    freqs = [max(1, (count * M + total // 2) // total) for count in counts]
    order = sorted(range(len(freqs)), key=lambda i: -freqs[i])
    excess = sum(freqs) - M
    while excess:
        for i in order:
            if excess > 0:
                step = min(excess, freqs[i] // 8 + 1, freqs[i] - 1)
            else:
                step = -min(-excess, freqs[i] // 8 + 1)
            freqs[i] -= step
            excess -= step
    return freqs


def intervals(symbols, counts):
    out, start = [], 0
    for symbol, freq in zip(symbols, scale(counts)):
        out.append((symbol, start, freq))
        start += freq
    return out


def count(n):
    """The count that a number stands for."""
    return n if n < 8 else (4 + n % 4) << min(n // 4 - 1, 28)


# Models of the adaptive coder. A bit model is [p, s].

def bit_model():
    return [32768, 0]


def symbol_model(bits):
    """2^bits bit models, of which number 0 is not used."""
    return [[32768, 0] for _ in range(1 << bits)]


class IntegerModel:
    """A length, and heads; models are made when they are used."""

    def __init__(self):
        self.length, self.heads = symbol_model(7), {}

    def head(self, length):
        if length not in self.heads:
            self.heads[length] = symbol_model(2)
        return self.heads[length]

    def bit_models(self):
        """All of them, in the order of formats/archive_operations.md, section 6."""
        yield from self.length[1:]
        for length in range(2, 65):
            yield from self.head(length)[1:]


class Adaptive:
    """The adaptive coder; beyond the end of the data zeros are read, at most 64."""

    def __init__(self, data):
        self.data, self.at = bytes(data) + bytes(64), 4
        self.low, self.high = 0, 0xFFFFFFFF
        self.code = int.from_bytes(self.data[:4], "big")

    def bit(self, p):
        p = min(max(p, 32), 65503)
        low, high, code = self.low, self.high, self.code
        cut = low + ((high - low) * p >> 16)
        one = code <= cut
        if one:
            high = cut
        else:
            low = cut + 1
        while low >> 24 == high >> 24:
            refuse_if(self.at >= len(self.data), "read more than 64 bytes beyond the end")
            low = low << 8 & 0xFFFFFFFF
            high = high << 8 & 0xFFFFFFFF | 255
            code = code << 8 & 0xFFFFFFFF | self.data[self.at]
            self.at += 1
        self.low, self.high, self.code = low, high, code
        return int(one)

    def adaptive_bit(self, model):
        p, seen = model
        if self.bit(p):
            one = 1
            model[0] = p + ((65535 - p) * RATES[seen] >> 8)
        else:
            one = 0
            model[0] = p - (p * RATES[seen] >> 8)
        if seen < 11:
            model[1] = seen + 1
        return one

    def raw(self, bits):
        value = 0
        for _ in range(bits):
            value = value << 1 | self.bit(32768)
        return value

    def symbol(self, model, bits):
        symbol = 1
        for _ in range(bits):
            symbol = symbol << 1 | self.adaptive_bit(model[symbol])
        return symbol - (1 << bits)

    def number(self, model):
        length = min(self.symbol(model.length, 7), 64)
        if length < 2:
            return length
        value, head, left = 1, 1, length - 1
        heads = model.head(length)
        while left and head < 4:
            left -= 1
            one = self.adaptive_bit(heads[head])
            head, value = head << 1 | one, value << 1 | one
        return value << left | self.raw(left)

    def uniform(self, n):
        a, b = 0, n
        while b - a > 1:
            middle = a + (b - a) // 2
            if self.bit((b - middle) * 65536 // (b - a)):
                a = middle
            else:
                b = middle
        return a
