//! Reading and writing of mixing models (small neural networks that predict positions).

use super::layout::{
    BIAS, FIELDS, FieldValues, LAST_PIECE, Layout, MAX_UNITS, MAX_VALUES, SQUARES,
};
use super::{HIDDEN_STEP, MAX_HIDDEN, MixingModel, Weights};
use crate::archive::adaptive::{
    BitCoder, BitDecoder, BitEncoder, BitModel, IntegerModel, SymbolModel,
};
use crate::archive::error::Refusal;

/// The byte that codes a weight of 0.
const ZERO: i16 = 128;

impl MixingModel {
    /// The bytes of the model.
    pub(in crate::archive) fn write(&self) -> Vec<u8> {
        let mut encoder = BitEncoder::new();
        let mut codec = ModelCodec::default();
        let fields = codec.fields(&mut encoder, &self.layout.fields);
        debug_assert!(fields.is_some());
        codec.hidden(&mut encoder, self.hidden);
        let mut weights = self.weights.clone();
        let written = codec.weights(&mut encoder, &self.layout, self.hidden, &mut weights);
        debug_assert!(written.is_some());
        encoder.finish()
    }

    /// Reads a model. A model that needs more than about `memory_bytes` is refused.
    pub(in crate::archive) fn read(
        bytes: &[u8],
        memory_bytes: usize,
    ) -> Result<MixingModel, Refusal> {
        let mut decoder = BitDecoder::new(bytes);
        let mut codec = ModelCodec::default();
        let none = vec![FieldValues::default(); FIELDS];
        let fields = codec.fields(&mut decoder, &none).ok_or(Refusal::Damaged)?;
        let layout = Layout::new(fields);
        let hidden = codec.hidden(&mut decoder, 0);
        if hidden > MAX_HIDDEN {
            return Err(Refusal::Damaged);
        }
        if Weights::cost(&layout, hidden) > memory_bytes {
            return Err(Refusal::Memory);
        }
        let mut weights = Weights::new(&layout, hidden);
        codec.weights(&mut decoder, &layout, hidden, &mut weights).ok_or(Refusal::Damaged)?;
        Ok(MixingModel { layout, hidden, weights })
    }
}

/// Coder of a model. The encoder and the decoder share it.
struct ModelCodec {
    numbers: IntegerModel,
    values: IntegerModel,
    pieces: SymbolModel,
    is_used: BitModel,
    /// Models of the flag that a weight is not 0. The first is for a weight after a weight of 0,
    /// the second for a weight after any other weight.
    is_set: [BitModel; 2],
    signs: BitModel,
    magnitudes: SymbolModel,
    inner: SymbolModel,
    outer: SymbolModel,
}

impl Default for ModelCodec {
    fn default() -> ModelCodec {
        ModelCodec {
            numbers: IntegerModel::default(),
            values: IntegerModel::default(),
            pieces: SymbolModel::new(4),
            is_used: BitModel::default(),
            is_set: [BitModel::default(); 2],
            signs: BitModel::default(),
            magnitudes: SymbolModel::new(7),
            inner: SymbolModel::new(8),
            outer: SymbolModel::new(8),
        }
    }
}

impl ModelCodec {
    fn fields(
        &mut self,
        coder: &mut impl BitCoder,
        given: &[FieldValues],
    ) -> Option<Vec<FieldValues>> {
        (0..FIELDS).map(|number| self.field(coder, number, &given[number])).collect()
    }

    fn field(
        &mut self,
        coder: &mut impl BitCoder,
        number: usize,
        given: &FieldValues,
    ) -> Option<FieldValues> {
        let count = self.numbers.code(coder, given.values.len() as u64);
        let count = usize::try_from(count).ok().filter(|&count| count <= MAX_VALUES)?;
        let units = self.numbers.code(coder, given.units as u64);
        let units = usize::try_from(units).ok().filter(|&units| units <= count.min(MAX_UNITS))?;
        let is_square = SQUARES.contains(&number);
        let mut values = Vec::with_capacity(count);
        for nth in 0..count {
            let value = given.values.get(nth).copied().unwrap_or(0);
            values.push(match is_square {
                true => {
                    Some(self.pieces.code(coder, value)).filter(|&piece| piece <= LAST_PIECE)?
                }
                false => u32::try_from(self.values.code(coder, value.into())).ok()?,
            });
        }
        let is_listed_twice = (1..count).any(|nth| values[..nth].contains(&values[nth]));
        let escapes = coder.raw(given.escapes.into(), 1) == 1;
        let is_coded = (escapes && !is_square) || (count > 0 && !escapes);
        (is_coded && !is_listed_twice && !coder.is_exhausted()).then_some(FieldValues {
            values,
            units,
            escapes,
        })
    }

    /// Codes the number of hidden units.
    fn hidden(&mut self, coder: &mut impl BitCoder, given: usize) -> usize {
        let vectors = self.numbers.code(coder, (given / HIDDEN_STEP) as u64);
        (vectors as usize).saturating_mul(HIDDEN_STEP)
    }

    /// Encodes or decodes all weights. A decoder returns `None` for bytes that no writer produces.
    fn weights(
        &mut self,
        coder: &mut impl BitCoder,
        layout: &Layout,
        hidden: usize,
        weights: &mut Weights,
    ) -> Option<()> {
        for feature in 0..layout.features() {
            let direct = &mut weights.direct[feature * weights.stride..][..layout.units()];
            let inner = &mut weights.inner[feature * weights.hidden_stride..][..hidden];
            let is_used = direct.iter().chain(&*inner).any(|&weight| weight != 0);
            if feature != BIAS && !coder.adaptive_bit(is_used, &mut self.is_used) {
                continue;
            }
            self.direct(coder, &mut direct[layout.start(feature)..]);
            inner
                .iter_mut()
                .for_each(|weight| *weight = pass_byte(coder, &mut self.inner, *weight));
            if coder.is_exhausted() {
                return None;
            }
        }
        for unit in 0..layout.units() {
            let outer = &mut weights.outer[unit * weights.hidden_stride..][..hidden];
            outer
                .iter_mut()
                .for_each(|weight| *weight = pass_byte(coder, &mut self.outer, *weight));
        }
        (!coder.is_exhausted()).then_some(())
    }

    /// Codes the weights from a feature (an input) to units (outputs).
    fn direct(&mut self, coder: &mut impl BitCoder, weights: &mut [i16]) {
        let mut was_set = false;
        for weight in weights {
            let model = &mut self.is_set[usize::from(was_set)];
            was_set = coder.adaptive_bit(*weight != 0, model);
            *weight = if was_set { self.set_weight(coder, *weight) } else { 0 };
        }
    }

    /// Codes a weight that is not 0.
    fn set_weight(&mut self, coder: &mut impl BitCoder, given: i16) -> i16 {
        let is_negative = coder.adaptive_bit(given < 0, &mut self.signs);
        let below = u32::from(given.unsigned_abs().saturating_sub(1));
        let magnitude = self.magnitudes.code(coder, below) as i16 + 1;
        if is_negative { -magnitude } else { magnitude }
    }
}

/// Codes a weight as a byte.
fn pass_byte(coder: &mut impl BitCoder, model: &mut SymbolModel, given: i16) -> i16 {
    model.code(coder, (given + ZERO) as u32) as i16 - ZERO
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::archive::columns::{COLUMNS, EN_PASSANT, RANKS, Row};
    use crate::archive::rans::{self, RansDecoder};

    fn rows() -> impl Strategy<Value = Row> {
        let squares = prop::collection::vec(prop_oneof![4 => Just(0), 1 => 0..=LAST_PIECE], 64);
        let rest =
            (0..20u32, any::<u32>(), 0..9u32, prop_oneof![0..40u32, any::<u32>()], any::<u32>());
        (squares, rest).prop_map(|(squares, (form, state, en_passant, fullmove, halfmove))| {
            let mut row = Row([0; COLUMNS]);
            for (place, piece) in squares.into_iter().enumerate() {
                row.0[RANKS + place / 8] |= piece << (4 * (place % 8));
            }
            (row.0[0], row.0[1], row.0[EN_PASSANT]) = (form, state, en_passant);
            (row.0[11], row.0[12]) = (fullmove, halfmove);
            row
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// Rows of few kinds, and more different rows than a list can hold values.
        #[test]
        fn any_rows_round_trip(
            some in prop::collection::vec(rows(), 1..200),
            again in 1..4usize,
            hidden in prop_oneof![Just(0), Just(8), Just(MAX_HIDDEN)],
        ) {
            let rows: Vec<Row> = std::iter::repeat_n(&some, again).flatten().copied().collect();
            let bytes = MixingModel::learned(&rows, hidden, 3 * rows.len()).write();
            let model = MixingModel::read(&bytes, usize::MAX).unwrap();
            prop_assert_eq!(model.write(), bytes);
            let mut block = Vec::new();
            rans::encode(&model.encoder().encode(&rows), 7, &mut block);
            let decoded = model.decode(std::iter::once((RansDecoder::new(&block), rows.len())));
            let (decoder, read) = &decoded[0];
            prop_assert!(decoder.is_done(7));
            prop_assert_eq!(&read.rows, &rows);
        }

        /// Reading any bytes as a model succeeds or is refused. A model decodes any bytes to some
        /// rows, without a panic.
        #[test]
        fn any_bytes_are_a_model_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            block in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(model) = MixingModel::read(&bytes, 1 << 20) {
                model.decode(std::iter::once((RansDecoder::new(&block), 20)));
            }
        }

        /// The same for bytes that begin like a model.
        #[test]
        fn changed_models_are_models_or_refused(
            rows in prop::collection::vec(rows(), 1..20),
            place in any::<prop::sample::Index>(),
            with in any::<u8>(),
            block in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = MixingModel::learned(&rows, 8, 3 * rows.len()).write();
            let place = place.index(bytes.len());
            bytes[place] ^= with;
            if let Ok(model) = MixingModel::read(&bytes, 1 << 24) {
                model.decode(std::iter::once((RansDecoder::new(&block), 20)));
            }
        }
    }

    #[test]
    fn a_model_that_takes_more_memory_than_is_allowed_is_refused() {
        let rows = vec![Row::default(); 30];
        let model = MixingModel::learned(&rows, 8, 3 * rows.len());
        let bytes = model.write();
        assert!(MixingModel::read(&bytes, model.cost()).is_ok());
        assert_eq!(MixingModel::read(&bytes, model.cost() - 1).err(), Some(Refusal::Memory));
    }
}
