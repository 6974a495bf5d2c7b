//! The native module of the Python package `epdb_chess`.
//!
//! | Module | Contents |
//! |---|---|
//! | `errors` | exceptions |
//! | `report` | reports of what was read, and warnings |
//! | `work` | threads, signals, progress |
//! | `boards`, `positions`, `operands`, `options` | values of Python as values of the library, and back |
//! | `inputs` | what functions read: paths, folders, bytes, file objects, tables |
//! | `record`, `read` | the classes `Record` and `Reader` |
//! | `files` | functions that write files |
//! | `slices` | the classes `Plan` and `Slice` |
//! | `shard` | functions for work that several machines share |
//! | `scan` | the class `Scan`: files as columns in the memory of Apache Arrow |
//! | `arrow_input` | tables and columns of other packages |
//! | `answers` | the class `Answers`: rows about a column of positions |
//! | `search` | games by their positions |
//! | `library` | the class `Library`: records by position |

mod answers;
mod arrow_input;
mod boards;
mod errors;
mod files;
mod inputs;
mod library;
mod operands;
mod options;
mod positions;
mod read;
mod record;
mod report;
mod scan;
mod search;
mod shard;
mod slices;
mod work;

/// The native module.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answers::Answers;
    #[pymodule_export]
    use crate::files::{convert, normalize, pack, report, tally, unpack};
    #[pymodule_export]
    use crate::library::{Library, open};
    #[pymodule_export]
    use crate::positions::{key, moves};
    #[pymodule_export]
    use crate::read::{Reader, read};
    #[pymodule_export]
    use crate::record::Record;
    #[pymodule_export]
    use crate::scan::{_restore_scan, Batch, BatchReader, Scan, Schema, from_arrow, scan};
    #[pymodule_export]
    use crate::search::search;
    #[pymodule_export]
    use crate::shard::{archives, copies, games, merge, plan};
    #[pymodule_export]
    use crate::slices::{Plan, Slice};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
