//! Writes: one item or many; replacing, or only if the key is free; a whole item or some attributes. All of them write
//! folded keys.

mod batch;
mod collection;
mod error;
mod insert;
mod load;
mod put;
mod update;

pub use batch::BATCH_WRITE_ITEMS_MAX;
pub use collection::Collection;
pub use error::WriteError;
pub use insert::{
    BATCH_INSERT_BYTES_MAX, INSERT_REQUESTS_IN_FLIGHT, Inserted, PutNew, PutNewOptions, put_new_all,
};
pub use keyfold_core::write::{Expected, UPDATE_ATTEMPTS_MAX, Update, UpdateRefusal, item_of, primary_key};
pub use load::{LOAD_BATCHES_IN_FLIGHT_MAX, LoadError, Loaded, load};
pub use put::{Deleted, delete};
pub use put::{put, put_if, put_new};
pub use update::{UpdateError, Updated, update};
