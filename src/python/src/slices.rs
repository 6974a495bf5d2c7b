//! The classes `Plan` and `Slice`: files that are read in parts.

use std::sync::Arc;

use epdb_source::{Slice as PlanSlice, SlicePlan};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::OrRaise;

/// Files that are cut into slices of about equal size. A plan is a sequence of slices.
#[pyclass(module = "epdb_chess.shard", name = "Plan", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct Plan(pub(crate) Arc<SlicePlan>);

#[pymethods]
impl Plan {
    /// Reads the text of a plan, which `epdb shard plan` writes too.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Plan> {
        Ok(Plan(Arc::new(SlicePlan::from_json(text).or_raise(py)?)))
    }

    /// The text of the plan, as `epdb shard plan` writes it.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Number of slices.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, number: isize) -> PyResult<Slice> {
        let end = if number < 0 { self.0.len() } else { 0 };
        let slice = end.checked_add_signed(number);
        let slice = slice.and_then(|number| PlanSlice::new(Arc::clone(&self.0), number));
        slice.map(Slice).ok_or_else(|| PyIndexError::new_err("no slice has this number"))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let slice = |number| PlanSlice::new(Arc::clone(&self.0), number).map(Slice);
        PyList::new(py, (0..self.0.len()).filter_map(slice).collect::<Vec<_>>())?.try_iter()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Plan>().getattr("from_json")?, (self.0.to_json(),)))
    }

    fn __repr__(&self) -> String {
        format!("<epdb_chess.shard.Plan of {} slices>", self.0.len())
    }
}

/// A slice of a plan, which `scan`, `read`, `tally` and `pack` take in the place of paths.
#[pyclass(module = "epdb_chess.shard", name = "Slice", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct Slice(pub(crate) PlanSlice);

#[pymethods]
impl Slice {
    /// The plan of which this is a slice.
    #[getter]
    fn plan(&self) -> Plan {
        Plan(Arc::clone(self.0.plan()))
    }

    /// The number of the slice in the plan, from 0.
    #[getter]
    fn number(&self) -> usize {
        self.0.number()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Plan, usize))> {
        let item = py.import("operator")?.getattr("getitem")?;
        Ok((item, (self.plan(), self.0.number())))
    }

    pub(crate) fn __repr__(&self) -> String {
        let number = self.0.number();
        let slices = self.0.plan().len();
        format!("<epdb_chess.shard.Slice {number} of {slices}>")
    }
}
