//! Programs that others have written, in other languages: to come.
