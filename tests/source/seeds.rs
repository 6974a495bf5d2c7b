//! The inputs of the fuzz targets also pass as tests.

use crate::seed_files::feed;

#[path = "../fuzz/manifest.rs"]
mod manifest;
#[path = "../fuzz/plan.rs"]
mod plan;
#[path = "../fuzz/tables.rs"]
mod tables;

#[test]
fn seeds_of_parquet() {
    feed("parquet", 30, tables::parquet);
}

#[test]
fn seeds_of_manifests() {
    feed("manifest", 23, manifest::manifest);
}

#[test]
fn seeds_of_plans() {
    feed("plan", 12, plan::plan);
}
