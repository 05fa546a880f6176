//! Any response body: whatever our decoder accepts, the SDK's accepts too, with the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let taken = keyfold_dynamo::fuzzing::answer(body);
    // A truncated body must be invalid for both: it would be an answer with fewer items.
    if taken.contains(&true) && body.last() == Some(&b'}') {
        assert_eq!(keyfold_dynamo::fuzzing::answer(&body[..body.len() - 1]), [false; 4], "a body that was cut off is taken");
    }
});
