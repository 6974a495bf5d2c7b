//! Columns that other programs wrote, in the types of our tables. No value is changed: a value that does not
//! fit is an error that names its row and its column.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int64Array, ListArray, RecordBatch, StringArray,
    StringViewArray, StructArray, new_null_array,
};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field};

use super::cells::{Kind, pair_fields};
use epdb_chess::error::{Error, Result};

/// The columns of a batch.
#[derive(Copy, Clone, Debug)]
pub struct BatchColumns<'b> {
    batch: &'b RecordBatch,
    /// The number of the first row in messages.
    first_row: u64,
}

impl<'b> BatchColumns<'b> {
    /// `first_row` is the number of the first row in messages.
    pub const fn new(batch: &'b RecordBatch, first_row: u64) -> BatchColumns<'b> {
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
    pub fn required(&self, name: &str, kind: Kind) -> Result<ArrayRef> {
        self.get(name, kind)?.ok_or_else(|| Error::new(format!("there is no column `{name}`")))
    }

    /// A column in another type.
    ///
    /// # Errors
    /// The column has another type, or a value does not fit the type.
    pub fn convert(&self, array: &ArrayRef, name: &str, wanted: &DataType) -> Result<ArrayRef> {
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
    pub fn invalid(&self, row: usize, name: &str, reason: &str) -> Error {
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
            Kind::Pairs => {
                let pair = DataType::Struct(pair_fields(DataType::Utf8View));
                DataType::List(Arc::new(Field::new("item", pair, true)))
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
        // A program that does not know the type of empty values chooses one, such as float in pandas.
        _ if array.logical_null_count() == array.len() => Ok(new_null_array(wanted, array.len())),
        (T::Dictionary(_, value), _) => {
            let plain = if value.is_string() { &T::Utf8View } else { &**value };
            convert(&cast(array, plain)?, wanted)
        }
        (_, T::List(item)) if item.data_type().is_nested() => to_pairs(array, item),
        (_, T::List(item)) => to_list(array, item),
        _ if found.is_floating() && wanted.is_integer() => cast_all(&whole_floats(array)?, wanted),
        _ if found.is_floating() && *wanted == T::Utf8View => float_texts(array),
        _ if found.is_decimal() && *wanted == T::Utf8View => decimal_texts(array),
        _ if found.is_decimal() && wanted.is_integer() => convert(&decimal_texts(array)?, wanted),
        _ if found.is_string() && wanted.is_integer() => from_number_texts(array, wanted),
        _ if found.is_temporal() && *wanted != T::Utf8View => Err(Misfit::Type),
        (T::FixedSizeBinary(_), _) => convert(&cast(array, &T::Binary)?, wanted),
        (T::Struct(_) | T::Union(..) | T::Map(..) | T::List(_) | T::LargeList(_), _)
        | (T::FixedSizeList(..) | T::ListView(_) | T::LargeListView(_), _) => Err(Misfit::Type),
        _ => cast_all(array, wanted),
    }
}

/// Casts a column as Arrow does: a value that does not fit gets lost.
fn cast(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Misfit> {
    arrow_cast::cast(array, wanted).map_err(|_| Misfit::Type)
}

/// Converts a column, unless a value would get lost.
fn cast_all(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Misfit> {
    let converted = cast(array, wanted)?;
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
    let floats = cast(array, &DataType::Float64)?;
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
    let floats = cast(array, &DataType::Float64)?;
    let text = |value: f64| (!value.is_nan()).then(|| value.to_string());
    let texts = floats.as_primitive::<Float64Type>().iter().map(|value| value.and_then(text));
    Ok(Arc::new(texts.collect::<StringViewArray>()))
}

/// Decimals as text; whole ones without a fraction.
fn decimal_texts(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let texts = cast(array, &DataType::Utf8)?;
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
    let texts = cast(array, &DataType::Utf8View)?;
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
        return cast(&values, &DataType::List(Arc::clone(item)));
    };
    let values = convert(list.values(), item.data_type())
        .map_err(|misfit| in_row_of(misfit, list.offsets()))?;
    let offsets = list.offsets().clone();
    Ok(Arc::new(ListArray::new(Arc::clone(item), offsets, values, list.nulls().cloned())))
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
    let list = cast(array, &DataType::List(Arc::clone(item)))?;
    Ok(Some(list.as_list::<i32>().clone()))
}

/// Texts with names. Other programs write them as a map, as a list of structs, or as a list of lists, with two
/// items each.
fn to_pairs(array: &ArrayRef, item: &Arc<Field>) -> Result<ArrayRef, Misfit> {
    let wanted = pair_fields(DataType::Utf8View);
    let list = match array.data_type() {
        DataType::Map(field, _) => {
            let map = array.as_map();
            let entries = Arc::new(map.entries().clone());
            let nulls = map.nulls().cloned();
            ListArray::new(Arc::clone(field), map.offsets().clone(), entries, nulls)
        }
        _ => plain_list(array)?.ok_or(Misfit::Type)?,
    };
    let offsets = list.offsets();
    let (keys, values) = match list.values().data_type() {
        DataType::Null if list.values().is_empty() => {
            (new_null_array(wanted[0].data_type(), 0), new_null_array(wanted[1].data_type(), 0))
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
            let item_of_each = |item: usize| -> ArrayRef {
                let starts = &pairs.value_offsets()[..pairs.len()];
                let places = starts.iter().map(|start| *start as usize + item);
                let items = places.map(|at| texts.is_valid(at).then(|| texts.value(at)));
                Arc::new(items.collect::<StringViewArray>())
            };
            (item_of_each(0), item_of_each(1))
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
    let list = ListArray::try_new(Arc::clone(item), offsets.clone(), Arc::new(pairs), nulls);
    Ok(Arc::new(list.map_err(|_| Misfit::Type)?))
}

/// Names and values in a cell of a column of pairs; a missing value is empty.
pub(crate) fn pairs_at(array: Option<&ArrayRef>, row: usize) -> Vec<(&str, &str)> {
    let Some(array) = array.filter(|array| array.is_valid(row)) else { return Vec::new() };
    let list = array.as_list::<i32>();
    let pairs = list.values().as_struct();
    let names = pairs.column(0).as_string_view();
    let values = pairs.column(1).as_string_view();
    let text = |entry: usize| if values.is_valid(entry) { values.value(entry) } else { "" };
    let range = list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize;
    range.map(|entry| (names.value(entry), text(entry))).collect()
}

/// The text of a cell, if it has one.
pub fn text_at(array: Option<&ArrayRef>, row: usize) -> Option<&str> {
    let array = array.filter(|array| array.is_valid(row))?;
    Some(array.as_string_view().value(row))
}

/// The number in a cell of a column of int64, if it has one.
pub fn number_at(array: Option<&ArrayRef>, row: usize) -> Option<i64> {
    let array = array.filter(|array| array.is_valid(row))?;
    Some(array.as_primitive::<Int64Type>().value(row))
}
