//! Options of buckets and datasets that a program gives, in place of the environment.

use std::path::Path;

use super::client::s3_option;
use super::hub::HubPath;
use super::settings::{StorageOptions, keep_storage_options};
use crate::delta::name_of;
use epdb_chess::error::{Error, Result};

/// Sets the storage options of the bucket or the dataset of an address, for this process.
pub(crate) fn set_storage_options(address: &Path, options: &StorageOptions) -> Result<()> {
    let name = address.to_string_lossy();
    let place = place_of(&name, options).map_err(|error| error.in_source(name_of(address)))?;
    keep_storage_options(place, options.clone());
    Ok(())
}

/// The bucket or the dataset of an address, which has these options.
fn place_of(address: &str, options: &StorageOptions) -> Result<String> {
    if let Some(object) = address.strip_prefix("s3://") {
        options.keys().try_for_each(|key| s3_option(key).map(drop))?;
        return Ok(format!("s3://{}", object.split('/').next().unwrap_or_default()));
    }
    if !address.starts_with("hf://") {
        return Err(Error::new("only s3:// and hf:// have storage options"));
    }
    if let Some(key) = options.keys().find(|key| !["token", "endpoint"].contains(&key.as_str())) {
        return Err(Error::new(format!(
            "{key:?} is not an option of hf://, which has token and endpoint"
        )));
    }
    Ok(HubPath::parse(address)?.place())
}
