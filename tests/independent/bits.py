"""Items that formats/epd_record.md (section 2), formats/archive.md (section 1) and others share: integers, CRC32C, bits, zstd."""
import zstandard


class Refused(Exception):
    """The bytes are not of the format."""


def refuse_if(condition, why):
    if condition:
        raise Refused(why)


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


CRC_TABLE = _crc_table()


def crc32c(*parts):
    crc = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def little(number, size):
    return number.to_bytes(size, "little")


def prefix(identity, number):
    """The part number `number` of the file or segment with this identity, in a check."""
    return little((number + (identity << 32)) % 2**64, 8)


class Items:
    """Items read one after the other; an item that ends beyond the data is refused."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def take(self, size):
        refuse_if(size > self.end - self.at, f"byte {self.at}: the data end inside {size} bytes")
        self.at += size
        return self.data[self.at - size:self.at]

    def int(self, size):
        return int.from_bytes(self.take(size), "little")

    def signed(self, size):
        return int.from_bytes(self.take(size), "little", signed=True)

    def string(self, size):
        """A length of `size` bytes, then as many bytes."""
        return self.take(self.int(size))

    def groups(self, most=10):
        """A number in groups of seven bits, the lowest first, as short as can be."""
        value = 0
        for nth in range(most):
            byte = self.int(1)
            value |= (byte & 127) << 7 * nth
            if byte < 128:
                refuse_if(byte == 0 and nth > 0, "a needless last group")
                return value
        raise Refused("too many groups")

    def ends(self):
        return self.at == self.end


def groups(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def utf8(data, what="text"):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{what} is not UTF-8") from None


class Bits:
    """Bits of bytes, the lowest first."""

    def __init__(self, data):
        self.value, self.left = int.from_bytes(data, "little"), 8 * len(data)

    def bits(self, count):
        refuse_if(count > self.left, "bits are missing")
        out = self.value & (1 << count) - 1
        self.value >>= count
        self.left -= count
        return out

    def bit(self):
        return self.bits(1)

    def ones(self, most=None):
        """The number of bits that are 1 before the next 0, which is taken too, unless there are `most`."""
        count = 0
        while count != most and self.bit():
            count += 1
        return count

    def finish(self):
        refuse_if(self.left > 7 or self.value, "bits after the last")


def unpacked(frame, length, dictionary=b""):
    """A zstd frame of known length."""
    given = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT) if dictionary else None
    try:
        stream = zstandard.ZstdDecompressor(dict_data=given).decompressobj()
        out = stream.decompress(frame)
        refuse_if(not stream.eof or stream.unused_data, "not exactly one zstd frame")
    except zstandard.ZstdError as fault:
        raise Refused(f"zstd: {fault}") from None
    refuse_if(len(out) != length, "a zstd frame of another length")
    return out
