//! Where Lambda's events come in, and what is told of each afterwards.

use std::convert::Infallible;

use lambda_http::lambda_runtime::{self, Service};
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Error, LambdaEvent, Request, service_fn};

use crate::settings::QUERY_STRING_BYTES_MAX;
use crate::{Api, handle, log, metrics};

/// Answers Lambda's events until the process ends.
pub async fn serve(api: &Api) -> Result<(), Error> {
    let answer = |request: Request| async move {
        let handled = handle(api, request).await;
        log::write(&handled.record);
        metrics::write(&handled.record);
        Ok::<_, Infallible>(handled.response)
    };
    let adapter = Adapter::from(service_fn(answer));
    let repair = |event: LambdaEvent<LambdaRequest>| {
        let LambdaEvent { payload, context } = event;
        adapter.clone().call(LambdaEvent { payload: repaired(payload), context })
    };
    lambda_runtime::run(service_fn(repair)).await
}

/// The event with a query string that a URI can have. What a client sends unescaped reaches us as it is, and
/// `lambda_http` panics where it builds a URI from it: one `<` would fail the whole invocation.
fn repaired(event: LambdaRequest) -> LambdaRequest {
    match event {
        LambdaRequest::ApiGatewayV2(mut request) => {
            request.raw_query_string = request.raw_query_string.map(|query| escaped(&query));
            LambdaRequest::ApiGatewayV2(request)
        }
        other => other,
    }
}

/// What `http::Uri` does not take in a query, percent-encoded. Of a query that is too long as much is kept as the handler
/// needs to refuse it: a URI has at most 64 kB.
fn escaped(query: &str) -> String {
    let mut out = String::with_capacity(query.len());
    for letter in query.chars() {
        match letter {
            '"' | '#' | '<' | '>' => out.push_str(&format!("%{:02X}", u32::from(letter))),
            '!'..='~' => out.push(letter),
            _ => out.extend(form_urlencoded::byte_serialize(letter.encode_utf8(&mut [0; 4]).as_bytes())),
        }
    }
    out.truncate(QUERY_STRING_BYTES_MAX + 1);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_survives_and_makes_a_uri() {
        let all: String =
            (0..0x800).filter_map(char::from_u32).filter(|letter| !"%+&=".contains(*letter)).collect();
        let query = format!("a={all}");
        let uri: http::Uri = format!("/x?{}", escaped(&query)).parse().unwrap();
        let read: Vec<_> = form_urlencoded::parse(uri.query().unwrap().as_bytes()).collect();
        assert_eq!(read, [("a".into(), all.into())]);
    }

    #[test]
    fn what_is_too_long_is_still_a_uri_and_still_too_long() {
        let long = escaped(&"\u{1F99C}".repeat(100_000));
        assert!(long.len() > QUERY_STRING_BYTES_MAX);
        assert!(format!("/x?{long}").parse::<http::Uri>().is_ok());
    }

    #[test]
    fn what_is_escaped_already_stays_as_it_is() {
        assert_eq!(escaped("a=%3C1%2B2+3&b.%3E=4"), "a=%3C1%2B2+3&b.%3E=4");
    }
}
