//! Writes: one item, or many; over what is there, or only where nothing is; a whole item, or a part of one. Folded keys go
//! with all of them.

mod batch;
mod collection;
mod delete;
mod error;
mod expect;
mod identity;
mod insert;
mod load;
mod put;
mod typed;
mod update;

pub use batch::BATCH_WRITE_ITEMS_MAX;
pub use collection::Collection;
pub use delete::{Deleted, delete};
pub use error::WriteError;
pub use expect::Expected;
pub use identity::primary_key;
pub use insert::{
    BATCH_INSERT_BYTES_MAX, INSERT_REQUESTS_IN_FLIGHT, Inserted, PutNew, PutNewOptions, put_new_all,
};
pub use load::{LOAD_BATCHES_IN_FLIGHT_MAX, LoadError, Loaded, load};
pub use put::{put, put_new};
pub use typed::item_of;
pub use update::{UPDATE_ATTEMPTS_MAX, Update, UpdateError, Updated, update};
