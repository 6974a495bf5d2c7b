//! The inputs of the fuzz targets also pass as tests.

use crate::seed_files::feed;

#[path = "../fuzz/manifests.rs"]
mod manifests;
#[path = "../fuzz/tables.rs"]
mod tables;

#[test]
fn seeds_of_parquet() {
    feed("parquet", 30, tables::parquet);
}

#[test]
fn seeds_of_manifests() {
    feed("manifest", 23, manifests::manifest);
}

#[test]
fn seeds_of_plans() {
    feed("plan", 12, manifests::plan);
}
