"""The mixing model of level max: formats/archive_mixing.md."""
from bits import refuse_if
from coder import M, Adaptive, IntegerModel, bit_model, symbol_model
from model import rank_of

FIELDS = 69
SQUARES = range(2, 66)
FIRST_OF_VALUES = 6
POINTS = [1, 1, 2, 3, 5, 9, 15, 25, 41, 67, 110, 180, 295, 480, 777, 1243, 1953, 2989, 4406, 6186,
          8192, 10198, 11978, 13395, 14431, 15141, 15607, 15904, 16089, 16204, 16274, 16317, 16343,
          16359, 16369, 16375, 16379, 16381, 16382, 16383, 16383]


def sigmoid(x):
    at = min(max(x, -2560), 2559) + 2560
    low, high = POINTS[at >> 7], POINTS[(at >> 7) + 1]
    return min(max(low + ((high - low) * (at & 127) >> 7), 1), 16383)


class MixingModel:
    def __init__(self):
        self.lists, self.units, self.escapes = [], [], []
        self.first_unit, self.first_feature = [], {}

    def number_units_and_features(self):
        """The numbers of the first unit of each field, and of the first feature of its values."""
        at, feature = 0, FIRST_OF_VALUES
        for f in range(FIELDS):
            self.first_unit.append(at)
            at += self.units[f]
            if f not in (1, 68):
                self.first_feature[f] = feature
                feature += max(len(self.lists[f]) - 1, 0)
        self.all_units, self.features = at, feature
        self.first_unit.append(at)

    def weights_from(self, feature):
        """The first unit to which a feature has weights."""
        if feature < FIRST_OF_VALUES:
            return self.first_unit[0 if feature == 0 else 2]
        field = max((f for f, first in self.first_feature.items() if first <= feature and len(self.lists[f]) > 1),
                    key=lambda f: self.first_feature[f])
        return self.first_unit[field + 1]


def read_mixing_model(data):
    a, model = Adaptive(data), MixingModel()
    numbers, values, pieces = IntegerModel(), IntegerModel(), symbol_model(4)
    for f in range(FIELDS):
        _read_list(a, model, f, numbers, values, pieces)
    model.hidden = 8 * a.number(numbers)
    refuse_if(model.hidden > 64, "too many hidden units")
    model.number_units_and_features()
    used, sign, magnitude, inners, outers = bit_model(), bit_model(), symbol_model(7), symbol_model(8), symbol_model(8)
    is_set = [bit_model() for _ in range(2)]
    model.direct = [{} for _ in range(model.features)]
    model.inner = [[0] * model.hidden for _ in range(model.features)]
    for f in range(model.features):
        if f > 0 and not a.adaptive_bit(used):
            continue
        one = 0
        for u in range(model.weights_from(f), model.all_units):
            one = a.adaptive_bit(is_set[one])
            if one:
                negative = a.adaptive_bit(sign)
                weight = a.symbol(magnitude, 7) + 1
                model.direct[f][u] = -weight if negative else weight
        model.inner[f] = [a.symbol(inners, 8) - 128 for _ in range(model.hidden)]
    model.outer = [[a.symbol(outers, 8) - 128 for _ in range(model.hidden)] for _ in range(model.all_units)]
    return model


def _read_list(a, model, f, numbers, values, pieces):
    n, units = a.number(numbers), a.number(numbers)
    refuse_if(n > 255 or units > 64 or units > n, "too many values or units")
    if f in SQUARES:
        values = [a.symbol(pieces, 4) for _ in range(n)]
        refuse_if(any(code > 12 for code in values), "a code above 12")
    else:
        values = [a.number(values) for _ in range(n)]
        refuse_if(any(value >= 2**32 for value in values), "a value over 32 bits")
    escapes = a.raw(1)
    refuse_if(len(set(values)) != n, "a value twice in a list")
    refuse_if(escapes and f in SQUARES or not escapes and not values, "a list that does not fit its field")
    model.lists.append(values)
    model.units.append(units)
    model.escapes.append(escapes)


class RowReader:
    """Reads one row by its decisions."""

    def __init__(self, rans, model):
        self.rans, self.model = rans, model
        self.active = [0]
        self.outputs = None

    def row(self):
        fields = []
        for f in range(FIELDS):
            self.outputs = None
            value, nth = self.field(f)
            fields.append(value)
            self.activate(f, value, nth)
        ranks = [rank_of(fields[2 + 8 * n:10 + 8 * n]) for n in range(8)]
        return [*fields[:2], *ranks, *fields[66:]]

    def field(self, f):
        model = self.model
        left = len(model.lists[f]) + model.escapes[f]
        for nth, v in enumerate(model.lists[f]):
            if left == 1:
                return v, nth
            if self.decide(self.probability(model.first_unit[f] + nth) if nth < model.units[f] else M // left):
                return v, nth
            left -= 1
        if not model.escapes[f]:
            return 0, None
        return sum(self.rans.byte() << 8 * i for i in range(4)), None

    def decide(self, p):
        true = self.rans.slot() < p
        self.rans.advance(*((0, p) if true else (p, M - p)))
        return true

    def probability(self, unit):
        model = self.model
        if self.outputs is None:
            self.outputs = [min(max(8 * sum(model.inner[a][h] for a in self.active), 0), 128)
                         for h in range(model.hidden)]
        x = 128 * sum(model.direct[a].get(unit, 0) for a in self.active)
        x += sum(weight * output for weight, output in zip(model.outer[unit], self.outputs))
        return sigmoid(x >> 3)

    def activate(self, f, value, nth):
        if f == 1:
            self.active += [1] if value & 1 else []
            self.active += [2 + slot for slot in range(4) if value >> 1 + 4 * slot & 15]
        if nth and f in self.model.first_feature:
            self.active.append(self.model.first_feature[f] + nth - 1)
