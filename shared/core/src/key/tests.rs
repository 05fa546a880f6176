//! The codec's laws and the seeds' figures.
