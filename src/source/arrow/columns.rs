//! Columns that other programs wrote, in the types of our tables. No value is changed: a value that does not
//! fit is an error that names its row and its column.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray,
    StringViewArray, StructArray, new_null_array,
};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field};

use super::cells::Kind;
use epdb_chess::error::{Error, Result};

/// The columns of a batch.
#[derive(Copy, Clone, Debug)]
pub(crate) struct BatchColumns<'b> {
    batch: &'b RecordBatch,
    /// The number of the first row in messages.
    first_row: u64,
}

impl<'b> BatchColumns<'b> {
    pub(crate) const fn new(batch: &'b RecordBatch, first_row: u64) -> BatchColumns<'b> {
        BatchColumns { batch, first_row }
    }

    /// The batch with these columns.
    pub(crate) const fn batch(&self) -> &'b RecordBatch {
        self.batch
    }

    /// A column in the type of a table, if the batch has it.
    ///
    /// # Errors
    /// The column has another type, or a value does not fit the type.
    pub(crate) fn get(&self, name: &str, kind: Kind) -> Result<Option<ArrayRef>> {
        let Some(array) = self.batch.column_by_name(name) else { return Ok(None) };
        self.convert(array, name, &kind.read_type()).map(Some)
    }

    /// # Errors
    /// The errors of `BatchColumns::get`; there is no such column.
    #[cfg(feature = "parquet")]
    pub(crate) fn required(&self, name: &str, kind: Kind) -> Result<ArrayRef> {
        self.get(name, kind)?.ok_or_else(|| Error::new(format!("there is no column `{name}`")))
    }

    /// A column in another type.
    ///
    /// # Errors
    /// The column has another type, or a value does not fit the type.
    pub(crate) fn convert(
        &self,
        array: &ArrayRef,
        name: &str,
        wanted: &DataType,
    ) -> Result<ArrayRef> {
        convert(array, wanted).map_err(|misfit| match misfit {
            Misfit::Type => {
                let found = array.data_type();
                Error::new(format!("the column `{name}` is of type {found}; expected {wanted}"))
            }
            Misfit::Value(row) => {
                let value = array_value_to_string(array, row).unwrap_or_default();
                let reason = format!("`{value}` does not fit the type {wanted}");
                self.invalid(row, name, &reason)
            }
        })
    }

    /// The error of a value; `row` counts from 0.
    pub(crate) fn invalid(&self, row: usize, name: &str, reason: &str) -> Error {
        let row = self.first_row + row as u64;
        Error::new(format!("row {row}, column `{name}`: {reason}"))
    }
}

/// The reason why a column cannot have a type.
enum Misfit {
    Type,
    /// The value in this row, from 0.
    Value(usize),
}

impl Kind {
    /// The type of a column that is read. Texts are views, so a text that many rows share is in memory once.
    pub(crate) fn read_type(self) -> DataType {
        match self {
            Kind::Text | Kind::Name => DataType::Utf8View,
            Kind::Bytes => DataType::BinaryView,
            Kind::Texts => DataType::List(Arc::new(Field::new("item", DataType::Utf8View, true))),
            Kind::Map => {
                let entry = vec![
                    Field::new("key", DataType::Utf8View, false),
                    Field::new("value", DataType::Utf8View, true),
                ];
                let entries = Field::new("entries", DataType::Struct(entry.into()), false);
                DataType::Map(Arc::new(entries), false)
            }
            kind => kind.data_type(),
        }
    }
}

fn convert(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Misfit> {
    use DataType as T;
    let found = array.data_type();
    if found == wanted {
        return Ok(ArrayRef::clone(array));
    }
    match (found, wanted) {
        (T::Null, _) => Ok(new_null_array(wanted, array.len())),
        (T::Dictionary(_, value), _) if **value == T::Null => {
            Ok(new_null_array(wanted, array.len()))
        }
        (T::Dictionary(_, value), _) => {
            let is_text = matches!(**value, T::Utf8 | T::LargeUtf8 | T::Utf8View);
            let plain = if is_text { &T::Utf8View } else { &**value };
            convert(&cast(array, plain).map_err(|_| Misfit::Type)?, wanted)
        }
        (_, T::Map(entries, _)) => {
            let wanted = Arc::clone(entries);
            to_map(array, wanted)
        }
        (_, T::List(item)) => to_list(array, item),
        (T::Float16 | T::Float32 | T::Float64, _) if wanted.is_integer() => {
            cast_all(&whole_floats(array)?, wanted)
        }
        (T::Float16 | T::Float32 | T::Float64, T::Utf8View) => float_texts(array),
        (
            T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..),
            T::Utf8View,
        ) => Ok(decimal_texts(array)?),
        (T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..), _)
            if wanted.is_integer() =>
        {
            convert(&decimal_texts(array)?, wanted)
        }
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, _) if wanted.is_integer() => {
            from_number_texts(array, wanted)
        }
        _ if found.is_temporal() && *wanted != T::Utf8View => Err(Misfit::Type),
        (T::FixedSizeBinary(_), _) => {
            convert(&cast(array, &T::Binary).map_err(|_| Misfit::Type)?, wanted)
        }
        (T::Struct(_) | T::Union(..) | T::Map(..) | T::List(_) | T::LargeList(_), _)
        | (T::FixedSizeList(..) | T::ListView(_) | T::LargeListView(_), _) => Err(Misfit::Type),
        _ => cast_all(array, wanted),
    }
}

/// Converts a column, unless a value would get lost.
fn cast_all(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Misfit> {
    let converted = cast(array, wanted).map_err(|_| Misfit::Type)?;
    match first_lost(array, &converted) {
        Some(row) => Err(Misfit::Value(row)),
        None => Ok(converted),
    }
}

/// The first row that has a value in `before` and none in `after`.
fn first_lost(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    let after = after.logical_nulls()?;
    let before = before.logical_nulls();
    let has_value = |row: usize| before.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    (0..after.len()).find(|row| after.is_null(*row) && has_value(*row))
}

/// Floats as whole numbers. NaN is a missing value, because pandas writes missing numbers as NaN.
fn whole_floats(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let floats = cast(array, &DataType::Float64).map_err(|_| Misfit::Type)?;
    // Floats beyond 2^53 do not have each whole number.
    let is_exact = |value: f64| value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    let mut numbers = Vec::with_capacity(array.len());
    for (row, value) in floats.as_primitive::<Float64Type>().iter().enumerate() {
        match value.filter(|value| !value.is_nan()) {
            Some(value) if is_exact(value) => numbers.push(Some(value as i64)),
            Some(_) => return Err(Misfit::Value(row)),
            None => numbers.push(None),
        }
    }
    Ok(Arc::new(Int64Array::from(numbers)))
}

/// Floats as text; whole ones without a fraction.
fn float_texts(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let floats = cast(array, &DataType::Float64).map_err(|_| Misfit::Type)?;
    let text = |value: f64| (!value.is_nan()).then(|| value.to_string());
    let texts = floats.as_primitive::<Float64Type>().iter().map(|value| value.and_then(text));
    Ok(Arc::new(texts.collect::<StringViewArray>()))
}

/// Decimals as text; whole ones without a fraction.
fn decimal_texts(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let texts = cast(array, &DataType::Utf8).map_err(|_| Misfit::Type)?;
    let texts: &StringArray = texts.as_string();
    let texts = texts.iter().map(|text| text.map(without_zero_fraction));
    Ok(Arc::new(texts.collect::<StringViewArray>()))
}

fn without_zero_fraction(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    }
}

/// Numbers that are written as text.
fn from_number_texts(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Misfit> {
    let texts = cast(array, &DataType::Utf8View).map_err(|_| Misfit::Type)?;
    let mut numbers = Vec::with_capacity(texts.len());
    for (row, text) in texts.as_string_view().iter().enumerate() {
        let digits = text.map(|text| without_zero_fraction(text.trim()));
        let number = digits.filter(|digits| !digits.is_empty()).map(str::parse::<i128>);
        numbers.push(number.transpose().map_err(|_| Misfit::Value(row))?);
    }
    let numbers = Decimal128Array::from(numbers).with_precision_and_scale(38, 0);
    let numbers: ArrayRef = Arc::new(numbers.map_err(|_| Misfit::Type)?);
    cast_all(&numbers, wanted)
}

/// A list of any layout. A value that is not a list is a list of one item.
fn to_list(array: &ArrayRef, item: &Arc<Field>) -> Result<ArrayRef, Misfit> {
    let Some(list) = plain_list(array)? else {
        let values = convert(array, item.data_type())?;
        return cast(&values, &DataType::List(Arc::clone(item))).map_err(|_| Misfit::Type);
    };
    let values = convert(list.values(), item.data_type())
        .map_err(|misfit| in_row_of(misfit, list.offsets()))?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(ListArray::new(Arc::clone(item), offsets, values, nulls)))
}

/// A misfit of an item as a misfit of its list.
fn in_row_of(misfit: Misfit, offsets: &[i32]) -> Misfit {
    match misfit {
        Misfit::Type => Misfit::Type,
        Misfit::Value(item) => {
            let after = offsets.partition_point(|offset| *offset as usize <= item);
            Misfit::Value(after.saturating_sub(1))
        }
    }
}

/// A list of any layout as a [`ListArray`]; `None` for other columns.
fn plain_list(array: &ArrayRef) -> Result<Option<ListArray>, Misfit> {
    let item = match array.data_type() {
        DataType::List(_) => return Ok(Some(array.as_list::<i32>().clone())),
        DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => item,
        _ => return Ok(None),
    };
    let list = cast(array, &DataType::List(Arc::clone(item))).map_err(|_| Misfit::Type)?;
    Ok(Some(list.as_list::<i32>().clone()))
}

/// A map. Programs without maps write it as a list of structs, or as a list of lists, with two items each.
fn to_map(array: &ArrayRef, entries: Arc<Field>) -> Result<ArrayRef, Misfit> {
    let DataType::Struct(wanted) = entries.data_type() else { return Err(Misfit::Type) };
    let wanted = wanted.clone();
    let list = match array.data_type() {
        DataType::Map(..) => {
            let map = array.as_map();
            let (field, pairs) = match array.data_type() {
                DataType::Map(field, _) => (Arc::clone(field), map.entries().clone()),
                _ => return Err(Misfit::Type),
            };
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            ListArray::new(field, offsets, Arc::new(pairs), nulls)
        }
        _ => plain_list(array)?.ok_or(Misfit::Type)?,
    };
    let offsets = list.offsets();
    let (keys, values) = match list.values().data_type() {
        DataType::Null => {
            let none = |field: &Field| new_null_array(field.data_type(), 0);
            if !list.values().is_empty() {
                return Err(Misfit::Type);
            }
            (none(&wanted[0]), none(&wanted[1]))
        }
        DataType::Struct(fields) if fields.len() == 2 => {
            let pairs = list.values().as_struct();
            (ArrayRef::clone(pairs.column(0)), ArrayRef::clone(pairs.column(1)))
        }
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            let pairs = plain_list(list.values())?.ok_or(Misfit::Type)?;
            let wrong = (0..pairs.len()).find(|pair| pairs.value_length(*pair) != 2);
            if let Some(pair) = wrong {
                return Err(in_row_of(Misfit::Value(pair), offsets));
            }
            let texts = convert(pairs.values(), &DataType::Utf8View).map_err(|_| Misfit::Type)?;
            let texts = texts.as_string_view();
            let start = |pair: usize| pairs.value_offsets()[pair] as usize;
            let text = |at: usize| texts.is_valid(at).then(|| texts.value(at));
            let half = |place: usize| -> ArrayRef {
                let texts = (0..pairs.len()).map(|pair| text(start(pair) + place));
                Arc::new(texts.collect::<StringViewArray>())
            };
            (half(0), half(1))
        }
        _ => return Err(Misfit::Type),
    };
    let located = |misfit| in_row_of(misfit, offsets);
    let keys = convert(&keys, wanted[0].data_type()).map_err(located)?;
    let values = convert(&values, wanted[1].data_type()).map_err(located)?;
    if let Some(entry) = (0..keys.len()).find(|entry| keys.is_null(*entry)) {
        return Err(located(Misfit::Value(entry)));
    }
    let pairs = StructArray::try_new(wanted, vec![keys, values], None).map_err(|_| Misfit::Type)?;
    let nulls = list.nulls().cloned();
    let map = MapArray::try_new(entries, offsets.clone(), pairs, nulls, false);
    Ok(Arc::new(map.map_err(|_| Misfit::Type)?))
}

/// Calls `visit` with each key and value of a map; a missing value is empty.
pub(crate) fn each_entry(map: &ArrayRef, row: usize, mut visit: impl FnMut(&str, &str)) {
    let entries = map.as_map().value(row);
    let keys = entries.column(0).as_string_view();
    let values = entries.column(1).as_string_view();
    for entry in 0..keys.len() {
        let value = if values.is_valid(entry) { values.value(entry) } else { "" };
        visit(keys.value(entry), value);
    }
}

/// The text of a cell, if it has one.
pub(crate) fn text_at(array: Option<&ArrayRef>, row: usize) -> Option<&str> {
    let array = array.filter(|array| array.is_valid(row))?;
    Some(array.as_string_view().value(row))
}

/// The number in a cell of a column of int64, if it has one.
pub(crate) fn number_at(array: Option<&ArrayRef>, row: usize) -> Option<i64> {
    let array = array.filter(|array| array.is_valid(row))?;
    Some(array.as_primitive::<Int64Type>().value(row))
}
