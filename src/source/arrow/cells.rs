//! Columns under construction.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder, StructBuilder,
    UInt16Builder, UInt64Builder,
};
use arrow_array::types::Int32Type;
use arrow_schema::{DataType, Field, Fields};

/// The type of a column.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Text.
    Text,
    /// Text with few different values in a batch, stored as a dictionary.
    Name,
    /// Bytes.
    Bytes,
    /// True or false.
    Flag,
    /// A signed number of 16 bits.
    I16,
    /// A signed number of 32 bits.
    I32,
    /// A signed number of 64 bits.
    I64,
    /// An unsigned number of 16 bits.
    U16,
    /// An unsigned number of 64 bits.
    U64,
    /// A number with a fraction.
    F64,
    /// A list of texts.
    Texts,
    /// A list of unsigned numbers of 16 bits.
    U16s,
    /// A list of signed numbers of 32 bits, some of which may be missing.
    I32s,
    /// A date, in days since 1970.
    Date,
    /// Texts with names.
    Pairs,
}

impl Kind {
    /// The type in a schema.
    pub fn data_type(self) -> DataType {
        let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
        match self {
            Kind::Text => DataType::Utf8,
            Kind::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Kind::Bytes => DataType::Binary,
            Kind::Flag => DataType::Boolean,
            Kind::I16 => DataType::Int16,
            Kind::I32 => DataType::Int32,
            Kind::I64 => DataType::Int64,
            Kind::U16 => DataType::UInt16,
            Kind::U64 => DataType::UInt64,
            Kind::F64 => DataType::Float64,
            Kind::Texts => list(DataType::Utf8),
            Kind::U16s => list(DataType::UInt16),
            Kind::I32s => list(DataType::Int32),
            Kind::Date => DataType::Date32,
            Kind::Pairs => list(DataType::Struct(pair_fields(DataType::Utf8))),
        }
    }

    /// The bits of a whole number, if a column of this type can hold it.
    pub(super) fn whole(self, number: i128) -> Option<u64> {
        let signed = match self {
            Kind::I16 => i16::try_from(number).ok()?.into(),
            Kind::I32 | Kind::Date => i32::try_from(number).ok()?.into(),
            Kind::I64 => i64::try_from(number).ok()?,
            Kind::U16 => return u16::try_from(number).ok().map(u64::from),
            Kind::U64 => return u64::try_from(number).ok(),
            _ => return None,
        };
        Some(signed.cast_unsigned())
    }

    /// A column of this type without rows.
    pub(super) fn cells(self) -> Cells {
        match self {
            Kind::Text => Cells::Text(StringBuilder::new()),
            Kind::Name => Cells::Name(StringDictionaryBuilder::new()),
            Kind::Bytes => Cells::Bytes(BinaryBuilder::new()),
            Kind::Flag => Cells::Flag(BooleanBuilder::new()),
            Kind::I16 => Cells::I16(Int16Builder::new()),
            Kind::I32 => Cells::I32(Int32Builder::new()),
            Kind::I64 => Cells::I64(Int64Builder::new()),
            Kind::U16 => Cells::U16(UInt16Builder::new()),
            Kind::U64 => Cells::U64(UInt64Builder::new()),
            Kind::F64 => Cells::F64(Float64Builder::new()),
            Kind::Texts => Cells::Texts(ListBuilder::new(StringBuilder::new())),
            Kind::U16s => Cells::U16s(ListBuilder::new(UInt16Builder::new())),
            Kind::I32s => Cells::I32s(ListBuilder::new(Int32Builder::new())),
            Kind::Date => Cells::Date(Date32Builder::new()),
            Kind::Pairs => {
                let texts = || -> Box<dyn ArrayBuilder> { Box::new(StringBuilder::new()) };
                let pair = StructBuilder::new(pair_fields(DataType::Utf8), vec![texts(), texts()]);
                Cells::Pairs(ListBuilder::new(pair))
            }
        }
    }
}

/// The fields of an entry of [`Kind::Pairs`].
pub(super) fn pair_fields(text: DataType) -> Fields {
    vec![Field::new("name", text.clone(), false), Field::new("value", text, true)].into()
}

/// The cells of a column so far.
pub(super) enum Cells {
    Text(StringBuilder),
    Name(StringDictionaryBuilder<Int32Type>),
    Bytes(BinaryBuilder),
    Flag(BooleanBuilder),
    I16(Int16Builder),
    I32(Int32Builder),
    I64(Int64Builder),
    U16(UInt16Builder),
    U64(UInt64Builder),
    F64(Float64Builder),
    Texts(ListBuilder<StringBuilder>),
    U16s(ListBuilder<UInt16Builder>),
    I32s(ListBuilder<Int32Builder>),
    Date(Date32Builder),
    Pairs(ListBuilder<StructBuilder>),
}

/// Runs an expression with the builder of any kind of cells.
macro_rules! each {
    ($cells:expr, $builder:ident => $do:expr) => {
        match $cells {
            Cells::Text($builder) => $do,
            Cells::Name($builder) => $do,
            Cells::Bytes($builder) => $do,
            Cells::Flag($builder) => $do,
            Cells::I16($builder) => $do,
            Cells::I32($builder) => $do,
            Cells::I64($builder) => $do,
            Cells::U16($builder) => $do,
            Cells::U64($builder) => $do,
            Cells::F64($builder) => $do,
            Cells::Texts($builder) => $do,
            Cells::U16s($builder) => $do,
            Cells::I32s($builder) => $do,
            Cells::Date($builder) => $do,
            Cells::Pairs($builder) => $do,
        }
    };
}

impl Cells {
    /// Number of rows.
    fn len(&self) -> usize {
        each!(self, builder => builder.len())
    }

    /// Adds missing values until there are `rows` rows.
    pub(super) fn fill(&mut self, rows: usize) {
        let missing = rows.saturating_sub(self.len());
        if missing == 0 {
            return;
        }
        match self {
            Cells::Name(builder) => builder.append_nulls(missing),
            Cells::Text(builder) => builder.append_nulls(missing),
            Cells::Bytes(builder) => builder.append_nulls(missing),
            Cells::Flag(builder) => builder.append_nulls(missing),
            Cells::I16(builder) => builder.append_nulls(missing),
            Cells::I32(builder) => builder.append_nulls(missing),
            Cells::I64(builder) => builder.append_nulls(missing),
            Cells::U16(builder) => builder.append_nulls(missing),
            Cells::U64(builder) => builder.append_nulls(missing),
            Cells::F64(builder) => builder.append_nulls(missing),
            Cells::Date(builder) => builder.append_nulls(missing),
            Cells::Pairs(builder) => (0..missing).for_each(|_| builder.append(false)),
            Cells::Texts(builder) => (0..missing).for_each(|_| builder.append(false)),
            Cells::U16s(builder) => (0..missing).for_each(|_| builder.append(false)),
            Cells::I32s(builder) => (0..missing).for_each(|_| builder.append(false)),
        }
    }

    /// Returns the column of `rows` rows, and starts the next batch.
    pub(super) fn finish(&mut self, rows: usize) -> ArrayRef {
        self.fill(rows);
        each!(self, builder => ArrayBuilder::finish(builder))
    }
}
