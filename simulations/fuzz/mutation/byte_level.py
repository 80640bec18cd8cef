"""Mutations of bytes, for what no tree stands for: broken documents, protocols, files of arrays."""

from random import Random

from simulations.fuzz.mutation.values import TOKENS


def mutate_bytes(data: bytes, other: bytes, random: Random) -> bytes:
    """Return bytes after one mutation. `other` gives parts for splices."""
    kind = random.randrange(9)
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((1, 1, 2, 4, 16, 64, len(data))))
    part = data[start:end]
    if kind == 0:  # bits
        return data[:start] + bytes(byte ^ (1 << random.randrange(8)) for byte in part[:4]) + data[start + 4 :]
    if kind == 1:
        return data[:start] + data[end:]
    if kind == 2:
        return data[:start]
    if kind == 3:
        return data[:start] + random.choice(TOKENS) + data[start:]
    if kind == 4:
        return data[:start] + random.choice(TOKENS) + data[end:]
    if kind == 5:
        return data[:end] + part * random.choice((1, 3, 50)) + data[end:]
    if kind == 6:  # the beginning of one, the end of the other
        return data[:start] + other[random.randint(0, len(other)) :]
    if kind == 7:
        return data[:start] + random.randbytes(len(part)) + data[end:]
    lines = data.split(b"\n")
    random.shuffle(lines)
    return b"\n".join(lines)
