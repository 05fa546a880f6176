//! A scan of the one segment of one is a plain scan, and is sent as one.
//!
//! DynamoDB does the same for both. The embedded one does not: where a segment is named it looks at the whole table for
//! every page, and a table of a million items would say nothing of the program that reads it.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextMut;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::scan::ScanInput;

/// The same client, whose scans of a whole table name no segment.
pub(super) fn scans_plainly(client: &Client) -> Client {
    Client::from_conf(client.config().to_builder().interceptor(Plainly).build())
}

#[derive(Debug)]
struct Plainly;

impl Intercept for Plainly {
    fn name(&self) -> &'static str {
        "Plainly"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(scan) = context.input_mut().downcast_mut::<ScanInput>() {
            plainly(scan);
        }
        Ok(())
    }
}

fn plainly(scan: &mut ScanInput) {
    if scan.total_segments == Some(1) {
        (scan.segment, scan.total_segments) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_segment_of_one_is_left_out() {
        for (total, left) in [(1, None), (2, Some(2))] {
            let mut scan =
                ScanInput::builder().table_name("table").segment(0).total_segments(total).build().unwrap();
            plainly(&mut scan);
            assert_eq!((scan.segment, scan.total_segments), (left.map(|_| 0), left));
        }
    }
}
