//! Reports of what was read, and warnings of Python.

use std::collections::BTreeSet;

use epdb_chess::error::{At, Error, Place};
use epdb_chess::text::Severity;
use epdb_library::expression::{Expression, never_met_advice};
use epdb_source::{CodeFindings, ReadReport};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};

use crate::errors::{
    for_python, raised, read_report_class, rejected_class, warning_class, with_given_names,
};

/// The report of a function that reads, and the lines and games that it could not read.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) report: ReadReport,
    /// Rejected lines and games are collected here, if they are no errors.
    pub(crate) rejects: Option<Vec<(Vec<u8>, Error)>>,
    /// The expression of `where`.
    pub(crate) filter: Option<Expression>,
}

impl Findings {
    /// Issues a warning of Python for each code of a warning or a rejection, and for fields of `where` that no
    /// record had.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        Warned::default().warn(py, &self.report)?;
        warn_of_filter(py, self.filter.as_ref(), &self.report)
    }

    /// Objects of the rejected lines and games.
    pub(crate) fn rejected<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.rejects.iter().flatten().map(|(raw, error)| rejected(py, raw, error)).collect()
    }

    /// Number of warnings by code.
    pub(crate) fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts(py, &self.report, Severity::Warning)
    }
}

/// The object of a line or a game that was rejected.
pub(crate) fn rejected<'py>(
    py: Python<'py>,
    raw: &[u8],
    error: &Error,
) -> PyResult<Bound<'py, PyAny>> {
    let error = raised(py, error).into_value(py);
    rejected_class(py)?.call1((PyBytes::new(py, raw), error))
}

/// The codes for which a warning of Python was issued.
#[derive(Default)]
pub(crate) struct Warned(BTreeSet<&'static str>);

impl Warned {
    pub(crate) fn has_new(&self, report: &ReadReport) -> bool {
        report.findings.keys().any(|code| !self.0.contains(code))
    }

    /// Issues a warning of Python for each code that is new, also for those of skipped lines. A filter of Python
    /// may raise it as an exception.
    pub(crate) fn warn(&mut self, py: Python<'_>, report: &ReadReport) -> PyResult<()> {
        for (code, found) in &report.findings {
            let CodeFindings { first, place, .. } = found;
            if !self.0.insert(code) {
                continue;
            }
            let (line, column) = match place.at {
                At::Line(line) => (Some(line), Some(first.column)),
                At::Record(number) | At::Game(number) => (Some(number), None),
                _ => (None, None),
            };
            let text = format!("{code}: {}", shown(found));
            let source = with_given_names(&place.source);
            issue(py, (text, source, line, column, code))?;
        }
        Ok(())
    }
}

/// The first finding of a code, with its place.
fn shown(found: &CodeFindings) -> String {
    let CodeFindings { first, place, .. } = found;
    let at = match place.at {
        At::Line(line) => At::Column { line, column: first.column },
        at => at,
    };
    with_given_names(&format!("{}: {}", Place { at, ..place.clone() }, first.message))
}

/// Issues a warning about each field of `where` that no record had, if records were left out.
pub(crate) fn warn_of_filter(
    py: Python<'_>,
    filter: Option<&Expression>,
    report: &ReadReport,
) -> PyResult<()> {
    let filter = filter.filter(|_| report.left_out > 0);
    let unmet: Vec<String> = filter.into_iter().flat_map(never_met_advice).collect();
    warn_of_fields(py, &unmet)
}

/// Issues a warning about fields that no record had.
pub(crate) fn warn_of_fields(py: Python<'_>, unmet: &[String]) -> PyResult<()> {
    unmet.iter().try_for_each(|text| issue(py, (for_python(text),)))
}

fn issue<'py>(py: Python<'py>, arguments: impl PyCallArgs<'py>) -> PyResult<()> {
    let warning = warning_class(py)?.call1(arguments)?;
    py.import("epdb_chess._values")?.call_method1("warn", (warning,)).map(drop)
}

/// The object of a report.
pub(crate) fn report_object<'py>(
    py: Python<'py>,
    rows: u64,
    is_complete: bool,
    report: &ReadReport,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = (
        rows,
        report.rejected,
        report.cut_short,
        report.left_out,
        counts(py, report, Severity::Warning)?,
        counts(py, report, Severity::Error)?,
        report.summary.variation_positions,
        report.summary.null_move_positions,
        report.summary.unread_evaluations,
        is_complete && report.cut_short == 0,
        report.findings.iter().map(|(code, found)| (*code, shown(found))).into_py_dict(py)?,
    );
    read_report_class(py)?.call1(fields)
}

fn counts<'py>(
    py: Python<'py>,
    report: &ReadReport,
    severity: Severity,
) -> PyResult<Bound<'py, PyDict>> {
    let object = PyDict::new(py);
    for (code, found) in &report.findings {
        if found.first.severity == severity {
            object.set_item(code, found.count)?;
        }
    }
    Ok(object)
}
