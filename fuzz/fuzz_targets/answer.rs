//! Whatever bytes DynamoDB answers: what our decoder takes, the SDK's takes too and reads the same in it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let taken = keyfold_dynamo::fuzzing::answer(body);
    // What is cut off anywhere is whole for neither: it would be an answer with fewer items.
    if taken.contains(&true) && body.last() == Some(&b'}') {
        assert_eq!(keyfold_dynamo::fuzzing::answer(&body[..body.len() - 1]), [false; 4], "a body that was cut off is taken");
    }
});
