//! A dead letter as a view. Pure.

use std::time::{Instant, SystemTime};

use boathook_core::queue::DeadLetter;
use jiff::Timestamp;

use crate::{
    admin::views::DeadLetterView,
    app::history::{first, stamp},
};

/// The view of one dead letter. `now` is the current time of both clocks.
pub(super) fn view(letter: &DeadLetter, (now, wall): (Instant, SystemTime)) -> DeadLetterView {
    DeadLetterView {
        id: letter.id,
        hook: letter.hook.to_string(),
        queue: letter.queue.to_string(),
        binding: letter.binding.to_string(),
        triggers_count: letter.triggers.len(),
        triggers: first(&letter.triggers),
        superseded: letter.superseded,
        attempts: letter.attempts,
        since: Timestamp::try_from(letter.since_by(now, wall)).map(stamp).unwrap_or_default(),
        kind: letter.failure.kind.label().to_owned(),
        message: letter.failure.message.clone(),
    }
}
