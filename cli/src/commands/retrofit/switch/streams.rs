//! The streams by which it is told whether all has arrived.

use keyfold_core::retrofit::TableRole;
use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};

use super::super::env::explained;
use super::state::Way;
use crate::refusal::refuse;

/// The streams of the retrofit's source and of its target. They must be those that it has followed all the time: what came to a
/// stream that is gone cannot be told any more.
pub(super) async fn streams(
    sender: &RequestSender,
    head: &RetrofitState,
    way: &Way,
) -> anyhow::Result<(String, String)> {
    // What the sender calls its source is the table that items are carried from.
    let (source, target) = match way.lead {
        Direction::Forward => (TableRole::Source, TableRole::Target),
        Direction::Reverse => (TableRole::Target, TableRole::Source),
    };
    let stream = sender.stream(source).await;
    let back_stream = match way.to {
        // Where nothing leads back, nobody follows the target.
        Phase::Settled if !head.was_reversed() => Ok(String::new()),
        _ => sender.stream(target).await,
    };
    let is_known = stream.as_ref().is_ok_and(|stream| head.check_stream(stream).is_ok())
        && (way.lead == Direction::Forward
            || back_stream.as_ref().is_ok_and(|stream| head.check_reverse_stream(stream).is_ok()));
    let retrofit = &head.retrofit;
    match head.phase {
        _ if is_known => {}
        Phase::Tidy => {
            let stream = stream.as_ref().map_err(ToString::to_string);
            let checked = stream.map(|stream| head.check_stream(stream));
            if let Ok(Err(error)) = checked {
                return Err(explained(error));
            }
        }
        Phase::Reversed => refuse!(
            "stream-replaced",
            "a stream of retrofit `{retrofit}` was switched off or replaced since the writers moved: what came to its table cannot be told any more\n\
             hint: the writers stay where they are; `keyfold retrofit finish {retrofit}` ends the way back"
        ),
        _ => refuse!(
            "stream-replaced",
            "a stream of retrofit `{retrofit}` was switched off or replaced during the stop, so nothing tells whether all has arrived\n\
             hint: run `{}`, which takes the switch back, and switch the stream on again if it is off",
            way.take_back(retrofit)
        ),
    }
    Ok((stream.map_err(explained)?, back_stream.map_err(explained)?))
}
