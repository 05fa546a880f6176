//! The `keyfold` command as its users run it, most of it against the embedded DynamoDB.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod advise;
mod audit;
mod doctor;
mod index;
mod init;
mod local;
mod manifest;
mod mcp;
mod measure;
mod messy;
mod moving;
mod plan;
mod query;
mod retrofit;
mod run;
mod services;
mod shell;
mod support;
mod switch;
mod tables;
mod write;
